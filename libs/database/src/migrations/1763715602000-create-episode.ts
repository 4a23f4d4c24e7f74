import type { MigrationInterface, QueryRunner } from 'typeorm';
import { type ByUser, partitioning } from '../partitions.js';

/** Episode states, and the merge that the subscription service runs inside its own transaction. */
export class CreateEpisode1763715602000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(tables(await partitioning(runner)));
    await runner.query(newest);
    await runner.query(mergeSubscription);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP FUNCTION episode.merge_subscription(uuid, bigint, bigint, timestamptz, bigint);
      DROP FUNCTION episode.match_subscriptions(uuid, bigint, bigint);
      DROP FUNCTION episode.match_keys(episode.episodes, boolean);
      DROP AGGREGATE episode.newest(episode.status);
      DROP FUNCTION episode.newer(episode.status, episode.status);
      DROP TYPE episode.status;
      DROP TABLE episode.sync_ids;
      DROP TABLE episode.episodes;
      DROP SEQUENCE episode.episode_id;
      DROP SCHEMA episode;
    `);
  }
}

const tables = (byUser: ByUser) => `
  CREATE SCHEMA episode;
  GRANT USAGE ON SCHEMA episode
    TO podcast_sync_subscription_group, podcast_sync_episode_group, podcast_sync_deletion_group;

  CREATE SEQUENCE episode.episode_id;
  GRANT USAGE ON SEQUENCE episode.episode_id TO podcast_sync_episode_group;

  CREATE TABLE episode.episodes (
    user_id uuid NOT NULL,
    id bigint NOT NULL DEFAULT nextval('episode.episode_id'),
    subscription_id bigint NOT NULL,
    changed timestamptz(3) NOT NULL,
    publish_date timestamptz(3) NOT NULL,
    playback_position double precision,
    playback_position_at timestamptz,
    played_status_at timestamptz,
    new_status_at timestamptz,
    download_status_at timestamptz,
    favorite_status_at timestamptz,
    minute_forms smallint NOT NULL DEFAULT 0,
    played_status boolean,
    new_status boolean,
    download_status boolean,
    favorite_status boolean,
    sync_id uuid NOT NULL,
    episode_guid text NOT NULL,
    title text NOT NULL,
    enclosure_url text NOT NULL,
    episode_url text NOT NULL,
    CONSTRAINT episodes_pkey PRIMARY KEY (user_id, id),
    CONSTRAINT episodes_status_is_whole CHECK (
      (playback_position IS NULL) = (playback_position_at IS NULL) AND (played_status IS NULL) = (played_status_at IS NULL)
      AND (new_status IS NULL) = (new_status_at IS NULL) AND (download_status IS NULL) = (download_status_at IS NULL)
      AND (favorite_status IS NULL) = (favorite_status_at IS NULL)
    )
  ) ${byUser('episode.episodes')};
  CREATE UNIQUE INDEX episodes_sync_id ON episode.episodes (user_id, sync_id);
  CREATE INDEX episodes_changed ON episode.episodes (user_id, changed, id);
  -- What identifies an episode within its subscription, each as one look-up.
  CREATE UNIQUE INDEX episodes_guid ON episode.episodes (user_id, subscription_id, sync.sha256(episode_guid))
    WHERE episode_guid <> '';
  -- Each of these lists the rows that share something in the order of ids, those without an episode_guid apart: of many
  -- that do, a look-up reads the first few. ("id + 0" has no other index, so that none of the others is taken for it.)
  -- The first of them has all rows, so that those of one subscription are found by it as well.
  CREATE INDEX episodes_enclosure
    ON episode.episodes (user_id, subscription_id, sync.digest(enclosure_url), (episode_guid = ''), (id + 0));
  CREATE INDEX episodes_date_and_url
    ON episode.episodes (user_id, subscription_id, publish_date, sync.digest(episode_url), (episode_guid = ''), (id + 0))
    WHERE episode_url <> '';
  -- Not left to the one before: 30 entries that are found by date and title only among 10,000 episodes of one date take
  -- 3 ms with it and 1,300 ms without.
  CREATE INDEX episodes_date_and_title
    ON episode.episodes (user_id, subscription_id, publish_date, sync.digest(title), (episode_guid = ''), (id + 0))
    WHERE title <> '';
  CREATE INDEX episodes_url_and_title ON episode.episodes (
    user_id, subscription_id, sync.digest(episode_url), sync.digest(title), (episode_guid = ''), (id + 0)
  ) WHERE episode_url <> '' AND title <> '';
  GRANT SELECT, INSERT, UPDATE, DELETE ON episode.episodes TO podcast_sync_episode_group;
  GRANT SELECT, DELETE ON episode.episodes TO podcast_sync_deletion_group;

  CREATE TABLE episode.sync_ids (
    user_id uuid NOT NULL,
    sync_id uuid NOT NULL,
    episode_id bigint NOT NULL,
    CONSTRAINT sync_ids_pkey PRIMARY KEY (user_id, sync_id)
  ) ${byUser('episode.sync_ids')};
  CREATE INDEX sync_ids_episode_id ON episode.sync_ids (user_id, episode_id);
  GRANT SELECT, INSERT, UPDATE, DELETE ON episode.sync_ids TO podcast_sync_episode_group;
  GRANT SELECT, DELETE ON episode.sync_ids TO podcast_sync_deletion_group;
`;

const newest = `
  -- A status as one value; booleans as 1 and 0. "minute" says that its time was given to the minute only.
  CREATE TYPE episode.status AS (value double precision, at timestamptz, minute boolean);

  -- The newer of two statuses; the first stands when they are equally new, or are compared by the minute and share it.
  CREATE FUNCTION episode.newer(a episode.status, b episode.status) RETURNS episode.status
  LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE
      WHEN (b).at IS NULL THEN a
      WHEN (a).at IS NULL THEN b
      WHEN (a).minute OR (b).minute THEN
        CASE WHEN date_trunc('minute', (b).at AT TIME ZONE 'UTC') > date_trunc('minute', (a).at AT TIME ZONE 'UTC')
          THEN b ELSE a END
      WHEN (b).at > (a).at THEN b
      ELSE a
    END
  $$;
  CREATE AGGREGATE episode.newest(episode.status) (SFUNC = episode.newer, STYPE = episode.status);

  -- The keys under which an episode of one subscription meets the same episode of another: they are the same when
  -- they share a key, and of several the one with the lowest rank. Where the rule is "either side has no guid", the
  -- side that is looked up has one key and the side that is looked into one for each kind of partner.
  CREATE FUNCTION episode.match_keys(e episode.episodes, p_into boolean) RETURNS TABLE (rank integer, key bytea)
  LANGUAGE sql STABLE AS $$
    SELECT k.rank, sync.sha256(concat_ws(E'\\n', k.partner, k.kind, k.a, k.b))
    FROM (
      SELECT 1 AS rank, 'guid' AS partner, 'guid' AS kind, e.episode_guid AS a, '' AS b WHERE e.episode_guid <> ''
      UNION ALL
      SELECT either.rank, partner.kind, either.kind, either.a, either.b
      FROM (VALUES
        (2, 'enclosure', nullif(e.enclosure_url, ''), ''),
        (3, 'date and url', e.publish_date::text, nullif(e.episode_url, '')),
        (3, 'date and title', e.publish_date::text, nullif(e.title, '')),
        (3, 'url and title', nullif(e.episode_url, ''), nullif(e.title, ''))
      ) either (rank, kind, a, b)
      CROSS JOIN (VALUES ('bare'), ('with guid')) partner (kind)
      WHERE either.a IS NOT NULL AND either.b IS NOT NULL
        AND CASE WHEN p_into THEN partner.kind = 'bare' OR e.episode_guid = ''
          ELSE partner.kind = CASE WHEN e.episode_guid = '' THEN 'bare' ELSE 'with guid' END END
      UNION ALL
      SELECT 4, 'guids differ', other.kind, e.enclosure_url, other.value
      FROM (VALUES ('date', e.publish_date::text), ('url', nullif(e.episode_url, '')), ('title', nullif(e.title, ''))) other (kind, value)
      WHERE e.episode_guid <> '' AND e.enclosure_url <> '' AND other.value IS NOT NULL
    ) k
  $$;
`;

const mergeSubscription = `
  -- Which episode of one subscription is which of another. What was just uploaded has no statistics yet, so the planner
  -- is told what it can't know: both sides may be large, and they are joined by hashing.
  CREATE FUNCTION episode.match_subscriptions(p_user uuid, p_from bigint, p_into bigint)
  RETURNS TABLE (absorbed bigint, survivor bigint)
  LANGUAGE sql STABLE SET enable_nestloop = off SET enable_mergejoin = off SET jit = off SET work_mem = '64MB' AS $$
    WITH f AS MATERIALIZED (
      SELECT e.id, k.rank, k.key FROM episode.episodes e, episode.match_keys(e, false) k
      WHERE e.user_id = p_user AND e.subscription_id = p_from
    ), i AS MATERIALIZED (
      SELECT e.id, k.rank, k.key FROM episode.episodes e, episode.match_keys(e, true) k
      WHERE e.user_id = p_user AND e.subscription_id = p_into
    ), best AS MATERIALIZED (
      SELECT DISTINCT ON (f.id) f.id AS absorbed, i.id AS survivor
      FROM f JOIN i ON i.rank = f.rank AND i.key = f.key
      ORDER BY f.id, f.rank, i.id
    )
    -- Two episodes with guids of their own may both meet one that has none. It takes the guid of the first, and then
    -- another is the same only where the enclosure and one more agree.
    SELECT m.absorbed, m.survivor
    FROM (
      SELECT best.absorbed, best.survivor,
        f.enclosure_url <> '' AND f.enclosure_url = i.enclosure_url
          AND (f.publish_date = i.publish_date OR (f.episode_url <> '' AND f.episode_url = i.episode_url)
            OR (f.title <> '' AND f.title = i.title)) AS sure,
        f.episode_guid <> '' AND i.episode_guid = '' AS names,
        row_number() OVER (PARTITION BY best.survivor, f.episode_guid <> '' AND i.episode_guid = '' ORDER BY f.id) AS place
      FROM best
      JOIN episode.episodes f ON f.user_id = p_user AND f.subscription_id = p_from AND f.id = best.absorbed
      JOIN episode.episodes i ON i.user_id = p_user AND i.subscription_id = p_into AND i.id = best.survivor
    ) m
    WHERE NOT m.names OR m.sure OR m.place = 1
  $$;

  -- Published to the subscription service, which runs it in the transaction that merges two subscriptions: episodes
  -- of the one that goes are merged with the same episodes of the one that stays, status by status, newest wins; the
  -- rest move. What changed or moved is stamped. The user may have p_aliases further sync_ids: those beyond are not kept.
  CREATE FUNCTION episode.merge_subscription(
    p_user uuid, p_from bigint, p_into bigint, p_stamp timestamptz, p_aliases bigint
  ) RETURNS void
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off AS $$
  DECLARE
    v_absorbed bigint[];
    v_survivors bigint[];
    v_added bigint;
  BEGIN
    SELECT array_agg(m.absorbed), array_agg(m.survivor) INTO v_absorbed, v_survivors
    FROM episode.match_subscriptions(p_user, p_from, p_into) m;

    UPDATE episode.sync_ids s SET episode_id = m.survivor
    FROM unnest(v_absorbed, v_survivors) m (absorbed, survivor)
    WHERE s.user_id = p_user AND s.episode_id = m.absorbed;
    INSERT INTO episode.sync_ids (user_id, sync_id, episode_id)
    SELECT p_user, e.sync_id, m.survivor
    FROM unnest(v_absorbed, v_survivors) m (absorbed, survivor)
    JOIN episode.episodes e ON e.user_id = p_user AND e.id = m.absorbed
    ORDER BY e.id
    LIMIT greatest(p_aliases - coalesce((SELECT t.sync_ids FROM episode.totals t WHERE t.user_id = p_user), 0), 0);
    GET DIAGNOSTICS v_added = ROW_COUNT;
    UPDATE episode.totals t SET sync_ids = t.sync_ids + v_added WHERE t.user_id = p_user AND v_added > 0;

    UPDATE episode.episodes e
    SET changed = p_stamp,
      episode_guid = n.episode_guid, title = n.title, episode_url = n.episode_url,
      playback_position = (n.position).value, playback_position_at = (n.position).at,
      played_status = ((n.played).value = 1), played_status_at = (n.played).at,
      new_status = ((n.new).value = 1), new_status_at = (n.new).at,
      download_status = ((n.download).value = 1), download_status_at = (n.download).at,
      favorite_status = ((n.favorite).value = 1), favorite_status_at = (n.favorite).at,
      minute_forms = coalesce((n.position).minute, false)::int + 2 * coalesce((n.played).minute, false)::int
        + 4 * coalesce((n.new).minute, false)::int + 8 * coalesce((n.download).minute, false)::int
        + 16 * coalesce((n.favorite).minute, false)::int
    FROM (
      SELECT g.survivor,
        coalesce((array_agg(e.episode_guid ORDER BY g.place, e.id) FILTER (WHERE e.episode_guid <> ''))[1], '') AS episode_guid,
        coalesce((array_agg(e.title ORDER BY g.place, e.id) FILTER (WHERE e.title <> ''))[1], '') AS title,
        coalesce((array_agg(e.episode_url ORDER BY g.place, e.id) FILTER (WHERE e.episode_url <> ''))[1], '') AS episode_url,
        episode.newest(ROW(e.playback_position, e.playback_position_at, e.minute_forms & 1 <> 0)::episode.status
          ORDER BY g.place, e.id) AS position,
        episode.newest(ROW(e.played_status::int, e.played_status_at, e.minute_forms & 2 <> 0)::episode.status
          ORDER BY g.place, e.id) AS played,
        episode.newest(ROW(e.new_status::int, e.new_status_at, e.minute_forms & 4 <> 0)::episode.status
          ORDER BY g.place, e.id) AS new,
        episode.newest(ROW(e.download_status::int, e.download_status_at, e.minute_forms & 8 <> 0)::episode.status
          ORDER BY g.place, e.id) AS download,
        episode.newest(ROW(e.favorite_status::int, e.favorite_status_at, e.minute_forms & 16 <> 0)::episode.status
          ORDER BY g.place, e.id) AS favorite
      FROM (
        SELECT m.survivor, m.absorbed AS id, 1 AS place FROM unnest(v_absorbed, v_survivors) m (absorbed, survivor)
        UNION ALL
        SELECT DISTINCT s.survivor, s.survivor, 0 FROM unnest(v_survivors) s (survivor)
      ) g
      JOIN episode.episodes e ON e.user_id = p_user AND e.id = g.id
      GROUP BY g.survivor
    ) n
    WHERE e.user_id = p_user AND e.id = n.survivor
      AND (e.episode_guid, e.title, e.episode_url, e.playback_position, e.playback_position_at, e.played_status, e.played_status_at,
        e.new_status, e.new_status_at, e.download_status, e.download_status_at, e.favorite_status, e.favorite_status_at)
      IS DISTINCT FROM (n.episode_guid, n.title, n.episode_url, (n.position).value, (n.position).at, (n.played).value = 1, (n.played).at,
        (n.new).value = 1, (n.new).at, (n.download).value = 1, (n.download).at, (n.favorite).value = 1, (n.favorite).at);

    DELETE FROM episode.episodes e USING unnest(v_absorbed) a (id) WHERE e.user_id = p_user AND e.id = a.id;
    UPDATE episode.episodes e SET subscription_id = p_into, changed = p_stamp
    WHERE e.user_id = p_user AND e.subscription_id = p_from;
  END $$;
  REVOKE EXECUTE ON FUNCTION episode.merge_subscription(uuid, bigint, bigint, timestamptz, bigint) FROM PUBLIC;
  GRANT EXECUTE ON FUNCTION episode.merge_subscription(uuid, bigint, bigint, timestamptz, bigint) TO podcast_sync_subscription_group;
`;
