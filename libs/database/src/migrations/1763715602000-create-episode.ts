import type { MigrationInterface, QueryRunner } from 'typeorm';
import { mergeSubscriptions, type StatusColumn, unknownDate, wholeStatuses } from './status.sql.js';

/** Creates episode states, and the merge that the subscription service runs in its transaction. */
export class CreateEpisode1763715602000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(keys);
    await runner.query(tables);
    await runner.query(newest);
    await runner.query(matchSubscriptions((episode) => `${episode}.enclosure_url`));
    await runner.query(mergeSubscriptions(statuses, false));
    await runner.query(countStates);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP FUNCTION episode.merge_subscriptions(uuid, bigint[], bigint[], timestamptz, bigint);
      DROP FUNCTION episode.count_states(uuid, bigint[], bigint);
      DROP FUNCTION episode.match_subscriptions(uuid, bigint[], bigint[]);
      DROP FUNCTION episode.match_keys(episode.episodes, boolean);
      DROP AGGREGATE episode.newest(episode.status);
      DROP FUNCTION episode.newer(episode.status, episode.status);
      DROP TYPE episode.status;
      DROP TABLE episode.totals;
      DROP TABLE episode.sync_ids;
      DROP TABLE episode.states;
      DROP TABLE episode.episodes;
      DROP FUNCTION episode.pair_key(boolean, timestamptz, text);
      DROP FUNCTION episode.pair_key(boolean, text, text);
      DROP FUNCTION episode.enclosure_key(boolean, text);
      DROP FUNCTION episode.guid_key(bigint, text);
      DROP SEQUENCE episode.episode_id;
      DROP SCHEMA episode;
    `);
  }
}

/** The statuses after this migration, in the order of their bits in `minute_forms`. */
export const statuses: readonly StatusColumn[] = [
  { column: 'playback_position', type: 'double precision' },
  { column: 'played_status', type: 'boolean' },
  { column: 'new_status', type: 'boolean' },
  { column: 'download_status', type: 'boolean' },
  { column: 'favorite_status', type: 'boolean' },
];

const keys = `
  CREATE SCHEMA episode;
  GRANT USAGE ON SCHEMA episode TO podcast_sync_subscription_group, podcast_sync_episode_group,
    podcast_sync_deletion_group, podcast_sync_dump_group;

  -- Keys of the indexes that find episodes, because long texts do not fit into an index entry.
  -- This one keeps guids unique, so it has 128 bits of a cryptographic hash. In plpgsql, because
  -- convert_to is not marked immutable.
  CREATE FUNCTION episode.guid_key(p_subscription bigint, p_guid text) RETURNS uuid
  LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
  BEGIN
    RETURN encode(substr(
      pg_catalog.sha256(int8send(p_subscription) || convert_to(p_guid, 'UTF8')), 1, 16), 'hex');
  END $$;

  -- The others find candidates, which are then compared by their texts. Postgres inlines them.
  -- "bare" is an episode without an episode_guid.
  CREATE FUNCTION episode.enclosure_key(p_bare boolean, p_url text) RETURNS bigint
  LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT hashtextextended(p_url, p_bare::int) $$;
  CREATE FUNCTION episode.pair_key(p_bare boolean, p_one text, p_other text) RETURNS bigint
  LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT hashtextextended(p_other, hashtextextended(p_one, p_bare::int))
  $$;
  CREATE FUNCTION episode.pair_key(p_bare boolean, p_date timestamptz, p_other text) RETURNS bigint
  LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT hashtextextended(
      p_other, timestamp_hash_extended(p_date AT TIME ZONE 'UTC', p_bare::int))
  $$;
`;

const tables = `
  CREATE SEQUENCE episode.episode_id;
  GRANT USAGE ON SEQUENCE episode.episode_id TO podcast_sync_episode_group;

  -- Metadata of episodes, which rarely change, with all indexes that find them. Statuses change
  -- often and are in episode.states, with a row for each row here and the same id and sync_id.
  -- The primary key is the sync_id here and the id there, so each has one index: an id finds a
  -- state, and its sync_id the episode.
  CREATE TABLE episode.episodes (
    user_id uuid NOT NULL,
    id bigint NOT NULL DEFAULT nextval('episode.episode_id'),
    subscription_id bigint NOT NULL,
    publish_date timestamptz(3) NOT NULL,
    duration double precision,
    sync_id uuid NOT NULL,
    episode_guid text NOT NULL,
    title text NOT NULL,
    enclosure_url text NOT NULL,
    episode_url text NOT NULL,
    CONSTRAINT episodes_pkey PRIMARY KEY (user_id, sync_id),
    CONSTRAINT episodes_duration_is_positive CHECK (duration > 0)
  );
  -- Keys that identify an episode within its subscription, each for one lookup.
  CREATE UNIQUE INDEX episodes_guid
    ON episode.episodes (user_id, episode.guid_key(subscription_id, episode_guid))
    WHERE episode_guid <> '';
  -- Each index has the rows with equal values in the order of ids, separately for rows without an
  -- episode_guid, so a lookup reads the first few. "id + 0" has no other index that Postgres could
  -- use instead. The indexes start with the subscription, which belongs to one user, because a
  -- user_id needs twice the bytes. The first has all rows, so it also finds those of one
  -- subscription. Such a query turns bitmap scans off: Postgres could combine the index with all
  -- keys of the user to save a few rows. An episode without a date has that of 1970.
  CREATE INDEX episodes_enclosure
    ON episode.episodes (
      subscription_id, episode.enclosure_key(episode_guid = '', enclosure_url), (id + 0)
    );
  CREATE INDEX episodes_date_and_url
    ON episode.episodes (
      subscription_id, episode.pair_key(episode_guid = '', publish_date, episode_url), (id + 0)
    ) WHERE publish_date <> ${unknownDate} AND episode_url <> '';
  CREATE INDEX episodes_date_and_title
    ON episode.episodes (
      subscription_id, episode.pair_key(episode_guid = '', publish_date, title), (id + 0)
    ) WHERE publish_date <> ${unknownDate} AND title <> '';
  CREATE INDEX episodes_url_and_title
    ON episode.episodes (
      subscription_id, episode.pair_key(episode_guid = '', episode_url, title), (id + 0)
    ) WHERE episode_url <> '' AND title <> '';
  GRANT SELECT, INSERT, UPDATE, DELETE ON episode.episodes TO podcast_sync_episode_group;
  GRANT SELECT, DELETE ON episode.episodes TO podcast_sync_deletion_group;

  -- No statement changes an id or a sync_id. They precede the changing columns, so that the WAL of
  -- a change omits them.
  CREATE TABLE episode.states (
    user_id uuid NOT NULL,
    id bigint NOT NULL,
    sync_id uuid NOT NULL,
    changed timestamptz(3) NOT NULL,
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
    CONSTRAINT states_pkey PRIMARY KEY (user_id, id),
    ${wholeStatuses(statuses)}
  );
  CREATE INDEX states_changed ON episode.states (user_id, changed);
  CREATE INDEX states_favorites ON episode.states (user_id, id) WHERE favorite_status;
  GRANT SELECT, INSERT, UPDATE, DELETE ON episode.states TO podcast_sync_episode_group;
  GRANT SELECT, DELETE ON episode.states TO podcast_sync_deletion_group;

  CREATE TABLE episode.sync_ids (
    user_id uuid NOT NULL,
    sync_id uuid NOT NULL,
    episode_id bigint NOT NULL,
    CONSTRAINT sync_ids_pkey PRIMARY KEY (user_id, sync_id)
  );
  CREATE INDEX sync_ids_episode_id ON episode.sync_ids (user_id, episode_id);
  GRANT SELECT, INSERT, UPDATE, DELETE ON episode.sync_ids TO podcast_sync_episode_group;
  GRANT SELECT, DELETE ON episode.sync_ids TO podcast_sync_deletion_group;

  -- Numbers of each user's episodes and further sync_ids, maintained by the statements that add or
  -- remove rows. A count for a list's total or a quota would read all rows of the user.
  CREATE TABLE episode.totals (
    user_id uuid NOT NULL,
    episodes bigint NOT NULL DEFAULT 0,
    sync_ids bigint NOT NULL DEFAULT 0,
    CONSTRAINT totals_pkey PRIMARY KEY (user_id),
    CONSTRAINT totals_are_no_debts CHECK (episodes >= 0 AND sync_ids >= 0)
  );
  GRANT SELECT, INSERT, UPDATE ON episode.totals TO podcast_sync_episode_group;
  GRANT SELECT, UPDATE ON episode.totals TO podcast_sync_deletion_group;

  GRANT SELECT ON episode.episodes, episode.states TO podcast_sync_dump_group;
`;

const newest = `
  -- A status as one value; booleans as 1 and 0. "minute": its time has a precision of one minute.
  CREATE TYPE episode.status AS (value double precision, at timestamptz, minute boolean);

  -- "newer" of apps/episode/src/episode.rules.ts in SQL.
  CREATE FUNCTION episode.newer(a episode.status, b episode.status) RETURNS episode.status
  LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE
      WHEN (b).at IS NULL THEN a
      WHEN (a).at IS NULL THEN b
      WHEN (a).minute OR (b).minute THEN
        CASE WHEN date_trunc('minute', (b).at AT TIME ZONE 'UTC')
          > date_trunc('minute', (a).at AT TIME ZONE 'UTC')
          THEN b ELSE a END
      WHEN (b).at > (a).at THEN b
      ELSE a
    END
  $$;
  CREATE AGGREGATE episode.newest(episode.status) (SFUNC = episode.newer, STYPE = episode.status);
`;

/**
 * Returns the SQL of the functions that match the episodes of subscriptions.
 *
 * @param enclosure returns the SQL of the form by which an episode's enclosure_url is compared.
 */
export const matchSubscriptions = (enclosure: (episode: string) => string) => `
  -- matchKeys of apps/episode/src/match.rules.ts in SQL, where the rule is described.
  -- merge-subscription.int-spec.ts next to it compares the two.
  CREATE OR REPLACE FUNCTION episode.match_keys(e episode.episodes, p_found boolean)
    RETURNS TABLE (rank integer, key bytea)
  LANGUAGE sql STABLE AS $$
    SELECT k.rank, sync.sha256(concat_ws(E'\\n', k.kind, k.a, k.b))
    FROM (
      SELECT 1 AS rank, 'guid' AS kind, e.episode_guid AS a, '' AS b WHERE e.episode_guid <> ''
      UNION ALL
      SELECT either.rank, partner.kind || ' ' || either.kind, either.a, either.b
      FROM (VALUES
        (2, 'enclosure', nullif(${enclosure('e')}, ''), ''),
        (3, 'date and url', nullif(e.publish_date, ${unknownDate})::text,
          nullif(e.episode_url, '')),
        (3, 'date and title', nullif(e.publish_date, ${unknownDate})::text, nullif(e.title, '')),
        (3, 'url and title', nullif(e.episode_url, ''), nullif(e.title, ''))
      ) either (rank, kind, a, b)
      CROSS JOIN (VALUES ('without guid'), ('with guid')) partner (kind)
      WHERE either.a IS NOT NULL AND either.b IS NOT NULL
        AND CASE WHEN p_found THEN partner.kind = 'without guid' OR e.episode_guid = ''
          ELSE partner.kind
            = CASE WHEN e.episode_guid = '' THEN 'without guid' ELSE 'with guid' END
        END
      UNION ALL
      SELECT 4, 'enclosure and ' || other.kind, ${enclosure('e')}, other.value
      FROM (VALUES
        ('date', nullif(e.publish_date, ${unknownDate})::text),
        ('url', nullif(e.episode_url, '')), ('title', nullif(e.title, ''))
      ) other (kind, value)
      WHERE e.episode_guid <> '' AND e.enclosure_url <> '' AND other.value IS NOT NULL
    ) k
  $$;

  -- Returns the pairs of equal episodes of pairs of subscriptions. New uploads have no statistics,
  -- so the settings force hash joins: both sides can be large.
  CREATE OR REPLACE FUNCTION
    episode.match_subscriptions(p_user uuid, p_from bigint[], p_into bigint[])
  RETURNS TABLE (absorbed bigint, survivor bigint)
  LANGUAGE sql STABLE
    SET enable_nestloop = off SET enable_mergejoin = off SET enable_bitmapscan = off
    SET jit = off SET work_mem = '64MB' AS $$
    WITH f AS MATERIALIZED (
      SELECT p.pair, e.id, k.rank, k.key
      FROM unnest(p_from) WITH ORDINALITY p (subscription_id, pair), episode.episodes e,
        episode.match_keys(e, false) k
      WHERE e.user_id = p_user AND e.subscription_id = p.subscription_id
    ), i AS MATERIALIZED (
      SELECT p.pair, e.id, k.rank, k.key
      FROM unnest(p_into) WITH ORDINALITY p (subscription_id, pair), episode.episodes e,
        episode.match_keys(e, true) k
      WHERE e.user_id = p_user AND e.subscription_id = p.subscription_id
    ), best AS MATERIALIZED (
      SELECT DISTINCT ON (f.id) f.id AS absorbed, i.id AS survivor
      FROM f JOIN i ON i.pair = f.pair AND i.rank = f.rank AND i.key = f.key
      ORDER BY f.id, f.rank, i.id
    )
    -- Two episodes with different guids can match one without a guid. It gets the guid of the
    -- first. Another one is then equal only if the enclosure and a further value agree.
    SELECT m.absorbed, m.survivor
    FROM (
      SELECT best.absorbed, best.survivor,
        f.enclosure_url <> '' AND ${enclosure('f')} = ${enclosure('i')}
          AND ((f.publish_date = i.publish_date AND f.publish_date <> ${unknownDate})
            OR (f.episode_url <> '' AND f.episode_url = i.episode_url)
            OR (f.title <> '' AND f.title = i.title)) AS sure,
        f.episode_guid <> '' AND i.episode_guid = '' AS names,
        row_number() OVER (
          PARTITION BY best.survivor, f.episode_guid <> '' AND i.episode_guid = '' ORDER BY f.id
        ) AS place
      FROM best
      JOIN episode.episodes f ON f.user_id = p_user AND f.subscription_id = ANY (p_from)
        AND f.id = best.absorbed
      JOIN episode.episodes i ON i.user_id = p_user AND i.subscription_id = ANY (p_into)
        AND i.id = best.survivor
    ) m
    WHERE NOT m.names OR m.sure OR m.place = 1
  $$;
`;

const countStates = `
  -- Published to the subscription service: the numbers of states of subscriptions, each counted up
  -- to p_most.
  CREATE FUNCTION episode.count_states(p_user uuid, p_subscriptions bigint[], p_most bigint)
  RETURNS TABLE (subscription_id bigint, states bigint)
  LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET enable_bitmapscan = off AS $$
    SELECT s.id, (
      SELECT count(*) FROM (
        SELECT FROM episode.episodes e
        WHERE e.user_id = p_user AND e.subscription_id = s.id LIMIT p_most
      ) counted
    )
    FROM unnest(p_subscriptions) s (id)
  $$;
  REVOKE EXECUTE ON FUNCTION episode.count_states(uuid, bigint[], bigint) FROM PUBLIC;
  GRANT EXECUTE ON FUNCTION episode.count_states(uuid, bigint[], bigint)
    TO podcast_sync_subscription_group;
`;
