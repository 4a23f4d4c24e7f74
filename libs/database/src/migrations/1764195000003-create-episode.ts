import type { MigrationInterface, QueryRunner } from 'typeorm';
import { countStates, matchSubscriptions } from './match.sql.js';
import { mergeSubscriptions, statuses, unknownDate, wholeStatuses } from './status.sql.js';

/**
 * Creates episodes and their states, and the functions with which the subscription service merges
 * and counts them.
 */
export class CreateEpisode1764195000003 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(keys);
    await runner.query(tables);
    await runner.query(newest);
    await runner.query(matchSubscriptions);
    await runner.query(mergeSubscriptions(statuses));
    await runner.query(countStates);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP SCHEMA episode CASCADE');
  }
}

const keys = `
  CREATE SCHEMA episode;
  GRANT USAGE ON SCHEMA episode TO podcast_sync_subscription_group, podcast_sync_episode_group,
    podcast_sync_deletion_group, podcast_sync_dump_group, podcast_sync_feed_group;

  -- Functions for the keys of indexes, because long texts do not fit into an index entry. guid_key
  -- keeps guids unique, so it returns 128 bits of a cryptographic hash. It is in plpgsql, because
  -- convert_to is not marked IMMUTABLE.
  CREATE FUNCTION episode.guid_key(p_subscription bigint, p_guid text) RETURNS uuid
  LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
  BEGIN
    RETURN encode(substr(
      pg_catalog.sha256(int8send(p_subscription) || convert_to(p_guid, 'UTF8')), 1, 16), 'hex');
  END $$;

  -- enclosure_key and pair_key find candidates, whose texts are then compared, so 64 bits suffice.
  -- Postgres inlines these functions. p_without_guid is true for an episode without an
  -- episode_guid.
  CREATE FUNCTION episode.enclosure_key(p_without_guid boolean, p_url text) RETURNS bigint
  LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT hashtextextended(p_url, p_without_guid::int)
  $$;
  CREATE FUNCTION episode.pair_key(p_without_guid boolean, p_one text, p_other text)
  RETURNS bigint
  LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT hashtextextended(p_other, hashtextextended(p_one, p_without_guid::int))
  $$;
  CREATE FUNCTION episode.pair_key(p_without_guid boolean, p_date timestamptz, p_other text)
  RETURNS bigint
  LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT hashtextextended(
      p_other, timestamp_hash_extended(p_date AT TIME ZONE 'UTC', p_without_guid::int))
  $$;
`;

const tables = `
  CREATE SEQUENCE episode.episode_id;
  GRANT USAGE ON SEQUENCE episode.episode_id TO podcast_sync_episode_group;

  -- Metadata of episodes, which rarely changes, with all indexes for matching. Statuses change
  -- often and are in episode.states, which has one row for each row here, with the same id and
  -- sync_id. The primary key is (user_id, sync_id) here and (user_id, id) in episode.states. To
  -- find an episode by id, read its sync_id from episode.states first.
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
    -- The comparable form of enclosure_url (ADR 45); NULL if it equals enclosure_url.
    comparable_enclosure_url text,
    CONSTRAINT episodes_pkey PRIMARY KEY (user_id, sync_id),
    CONSTRAINT episodes_duration_is_positive CHECK (duration > 0),
    -- Services read ids as numbers of JavaScript.
    CONSTRAINT episodes_id_is_exact CHECK (id <= 9007199254740991)
  );
  -- Keys that identify an episode within its subscription, each for one lookup.
  CREATE UNIQUE INDEX episodes_guid
    ON episode.episodes (user_id, episode.guid_key(subscription_id, episode_guid))
    WHERE episode_guid <> '';
  -- The episodes of a podcast in the order of the list. A query that reads all of them must turn
  -- bitmap scans off, or Postgres could also read all primary keys of the user.
  CREATE INDEX episodes_subscription ON episode.episodes (subscription_id, id);
  -- The next four indexes find candidates by equal values.
  -- - Rows with equal values are in the order of ids, separately for rows without an episode_guid.
  --   So a lookup reads only the first few. No other index has "id + 0", so Postgres uses these.
  -- - They start with subscription_id, which determines the user and has half the bytes of user_id.
  -- - An episode without a date has the publish_date 1970-01-01.
  CREATE INDEX episodes_enclosure
    ON episode.episodes (
      subscription_id,
      episode.enclosure_key(episode_guid = '', coalesce(comparable_enclosure_url, enclosure_url)),
      (id + 0)
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

  -- Published to the feed service: subscriptions with episodes that need a title. Citus checks
  -- the rights of the reader of a view.
  CREATE INDEX episodes_untitled ON episode.episodes (user_id, subscription_id, id)
    WHERE title = '';
  CREATE VIEW episode.untitled AS
    SELECT e.user_id, e.subscription_id FROM episode.episodes e WHERE e.title = '';
  GRANT SELECT ON episode.untitled TO podcast_sync_feed_group;
  GRANT SELECT (user_id, subscription_id, title) ON episode.episodes TO podcast_sync_feed_group;

  -- No statement changes an id or a sync_id. They come before the columns that change, so that the
  -- WAL of an update omits them.
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

  -- Numbers of each user's episodes and aliases (sync_ids), updated by the statements that add or
  -- remove rows. Counting for a list's total or a quota would read all rows of the user.
  CREATE TABLE episode.totals (
    user_id uuid NOT NULL,
    episodes bigint NOT NULL DEFAULT 0,
    sync_ids bigint NOT NULL DEFAULT 0,
    CONSTRAINT totals_pkey PRIMARY KEY (user_id),
    CONSTRAINT totals_not_negative CHECK (episodes >= 0 AND sync_ids >= 0)
  );
  GRANT SELECT, INSERT, UPDATE ON episode.totals TO podcast_sync_episode_group;
  GRANT SELECT, UPDATE ON episode.totals TO podcast_sync_deletion_group;

  GRANT SELECT ON episode.episodes, episode.states TO podcast_sync_dump_group;
`;

const newest = `
  -- A status as one value; a boolean is 1 or 0. minute is true if its time is in minute form.
  CREATE TYPE episode.status AS (value double precision, at timestamptz, minute boolean);

  -- The same rule as newerStatus in apps/episode/src/episode.rules.ts.
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
