import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Creates the feeds of podcasts with their pictures, the schedule of fetches, the tasks that apply
 * changes of feeds to their followers, previews, and imports. No table lists the users of a feed.
 */
export class CreateFeed1764195000006 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE SCHEMA feed;
      GRANT USAGE ON SCHEMA feed TO podcast_sync_feed_group, podcast_sync_episode_group;

      CREATE TABLE feed.feeds (
        -- The SHA-256 of the exact URL, so that only users who have the URL find the row.
        url_sha256 bytea NOT NULL,
        url text NOT NULL,
        -- Time at which a user last read the feed, updated at most once a day. A push sets a later
        -- time. Feeds that nobody has read for 14 days are deleted.
        last_read_at timestamptz NOT NULL,
        status text NOT NULL DEFAULT 'pending',
        title text,
        author text,
        description text,
        link text,
        language text,
        image_url text,
        -- A picture that the platform that pushed the feed serves.
        artwork_url text,
        declared_guid uuid,
        latest_publish_date timestamptz(3),
        -- The newest episodes as a JSON array, as they are in answers.
        episodes text NOT NULL DEFAULT '[]',
        -- Time at which the status or the content last changed.
        changed timestamptz(3) NOT NULL DEFAULT now(),
        CONSTRAINT feeds_pkey PRIMARY KEY (url_sha256),
        CONSTRAINT feeds_status CHECK (status IN ('pending', 'ok', 'failing', 'gone', 'refused'))
      );
      CREATE INDEX feeds_last_read ON feed.feeds (last_read_at);
      CREATE INDEX feeds_declared_guid ON feed.feeds (declared_guid)
        WHERE declared_guid IS NOT NULL;

      -- The state of fetching a feed, in its own table because each fetch writes it.
      CREATE TABLE feed.fetches (
        url_sha256 bytea NOT NULL,
        lane text NOT NULL,
        next_at timestamptz NOT NULL,
        fetched_at timestamptz,
        etag text,
        last_modified text,
        content_sha256 bytea,
        -- The median pause between episodes in seconds.
        gap_seconds integer,
        is_complete boolean NOT NULL DEFAULT false,
        failures integer NOT NULL DEFAULT 0,
        -- Number of consecutive responses with status 410.
        gone_count integer NOT NULL DEFAULT 0,
        failing_since timestamptz,
        fault text,
        -- Time until which the feed is not fetched, because a platform pushed it.
        pushed_until timestamptz NOT NULL DEFAULT '-infinity',
        -- A new URL that the publisher announces, how often it was seen, and since when.
        move_to text,
        move_seen integer NOT NULL DEFAULT 0,
        move_since timestamptz,
        move_proven boolean NOT NULL DEFAULT false,
        -- The URL and the guid that were last applied to the subscriptions of followers, each with
        -- its time.
        moved_to text,
        moved_at timestamptz,
        named_guid uuid,
        named_at timestamptz,
        -- Time of the last check whether followers need the new URL or guid.
        visited_at timestamptz NOT NULL DEFAULT '-infinity',
        CONSTRAINT fetches_pkey PRIMARY KEY (url_sha256),
        CONSTRAINT fetches_feed_fkey FOREIGN KEY (url_sha256) REFERENCES feed.feeds (url_sha256)
          ON DELETE CASCADE
      );
      CREATE INDEX fetches_due ON feed.fetches (lane, next_at);

      -- A lane is a host, or a family of hosts, that gets one request at a time.
      CREATE TABLE feed.lanes (
        lane text NOT NULL,
        -- Time at which the next feed of the lane is due.
        next_at timestamptz NOT NULL,
        -- The lane gets no request before this time: it is leased, paused or blocked.
        busy_until timestamptz NOT NULL DEFAULT '-infinity',
        -- Number of consecutive responses with status 429.
        blocks integer NOT NULL DEFAULT 0,
        CONSTRAINT lanes_pkey PRIMARY KEY (lane)
      );
      CREATE INDEX lanes_due ON feed.lanes (next_at);
      GRANT SELECT, INSERT, UPDATE, DELETE ON feed.feeds, feed.fetches, feed.lanes
        TO podcast_sync_feed_group;

      -- The pictures of feeds.
      CREATE TABLE feed.images (
        url_sha256 bytea NOT NULL,
        -- The id of the picture in answers. A changed picture gets a new id, so that clients can
        -- cache a picture permanently.
        id uuid NOT NULL,
        -- The URL of the picture at the publisher.
        source text NOT NULL,
        -- A WebP image of 256 x 256 pixels; null until the source was read.
        bytes bytea,
        -- Time at which the source is fetched next. A fetch postpones it when it starts.
        next_at timestamptz NOT NULL,
        -- Number of fetches since the last successful one.
        failures integer NOT NULL DEFAULT 0,
        CONSTRAINT images_pkey PRIMARY KEY (url_sha256),
        CONSTRAINT images_id UNIQUE (id),
        CONSTRAINT images_size CHECK (octet_length(bytes) <= 65536),
        CONSTRAINT images_feed_fkey FOREIGN KEY (url_sha256) REFERENCES feed.feeds (url_sha256)
          ON DELETE CASCADE
      );
      CREATE INDEX images_due ON feed.images (next_at);
      GRANT SELECT, INSERT, UPDATE, DELETE ON feed.images TO podcast_sync_feed_group;

      -- Requests for the preview of a feed before subscribing, and their answers. The rows do not
      -- name the user and exist only for seconds.
      CREATE TABLE feed.previews (
        id uuid NOT NULL,
        url text NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        is_claimed boolean NOT NULL DEFAULT false,
        -- The answer as JSON.
        result text,
        CONSTRAINT previews_pkey PRIMARY KEY (id)
      );
      GRANT SELECT, INSERT, UPDATE, DELETE ON feed.previews TO podcast_sync_feed_group;

      -- The last import of each user from another server, for a day.
      CREATE TABLE feed.imports (
        user_id uuid NOT NULL,
        -- Each start sets a new id, so that a replaced run ends.
        id uuid NOT NULL,
        source text NOT NULL,
        login text NOT NULL,
        state text NOT NULL DEFAULT 'waiting',
        fault text,
        -- The key of the process that runs the import, and the password encrypted with it. Only the
        -- memory of that process has the private key.
        public_key bytea,
        sealed bytea,
        -- The place where the next run continues, as JSON.
        cursor text,
        -- The numbers of imported and the list of skipped entries, as JSON.
        report text,
        -- Time at which the run last saved its progress.
        seen_at timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT imports_pkey PRIMARY KEY (user_id),
        CONSTRAINT imports_state
          CHECK (state IN ('waiting', 'running', 'stopped', 'failed', 'finished'))
      );
      CREATE INDEX imports_waiting ON feed.imports (user_id) WHERE state = 'waiting';
      GRANT SELECT, INSERT, UPDATE, DELETE ON feed.imports TO podcast_sync_feed_group;

      -- URLs of feeds with new episodes without a title: an outbox from the episode service to the
      -- feed service.
      CREATE TABLE feed.touched (
        id bigint GENERATED ALWAYS AS IDENTITY,
        url text NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT touched_pkey PRIMARY KEY (id)
      );
      GRANT SELECT, DELETE ON feed.touched TO podcast_sync_feed_group;
      GRANT INSERT ON feed.touched TO podcast_sync_episode_group;

      -- Tasks that call a service for each follower of a feed, in the order of user ids.
      CREATE TABLE feed.tasks (
        id bigint GENERATED ALWAYS AS IDENTITY,
        url_sha256 bytea NOT NULL,
        kind text NOT NULL,
        -- The last user for whom the task ran.
        cursor uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000',
        -- Time of the task's creation. If the task is created again while it runs, the time
        -- changes, and the task starts again.
        created_at timestamptz NOT NULL DEFAULT now(),
        -- The end of the task's lease.
        busy_until timestamptz NOT NULL DEFAULT '-infinity',
        -- The new URL and guid, for a task of the kind 'apply'.
        to_url text,
        guid uuid,
        CONSTRAINT tasks_pkey PRIMARY KEY (id),
        CONSTRAINT tasks_kind CHECK (kind IN ('describe', 'apply')),
        CONSTRAINT tasks_feed UNIQUE (url_sha256, kind),
        CONSTRAINT tasks_feed_fkey FOREIGN KEY (url_sha256) REFERENCES feed.feeds (url_sha256)
          ON DELETE CASCADE
      );
      GRANT SELECT, INSERT, UPDATE, DELETE ON feed.tasks TO podcast_sync_feed_group;

      -- Published to the episode service: the newest episodes of feeds. A contract; change it like
      -- a message.
      CREATE VIEW feed.newest_episodes AS SELECT f.url_sha256, f.episodes FROM feed.feeds f;
      GRANT SELECT ON feed.newest_episodes TO podcast_sync_episode_group;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP SCHEMA feed CASCADE');
  }
}
