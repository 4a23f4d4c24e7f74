import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Creates the feeds of podcasts with their pictures, the schedule of fetches, the tasks that visit
 * followers, and previews. No table lists the users of a feed. All rows can be read again from the
 * publishers.
 */
export class CreateFeed1764195000006 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE SCHEMA feed;
      GRANT USAGE ON SCHEMA feed TO podcast_sync_feed_group, podcast_sync_episode_group;

      CREATE TABLE feed.feeds (
        -- The SHA-256 of the exact URL. Only users who have the URL, and could fetch it, find the
        -- row.
        url_sha256 bytea NOT NULL,
        url text NOT NULL,
        -- When a follower last read it, to the day; a push sets a later time. Feeds that nobody
        -- reads are removed.
        last_read_at timestamptz NOT NULL,
        status text NOT NULL DEFAULT 'pending',
        title text,
        author text,
        description text,
        link text,
        language text,
        image_url text,
        declared_guid uuid,
        latest_publish_date timestamptz(3),
        -- The newest episodes as a JSON array, in the form of an answer.
        episodes text NOT NULL DEFAULT '[]',
        -- When the status or the content last changed.
        changed timestamptz(3) NOT NULL DEFAULT now(),
        CONSTRAINT feeds_pkey PRIMARY KEY (url_sha256),
        CONSTRAINT feeds_status CHECK (status IN ('pending', 'ok', 'failing', 'gone', 'refused'))
      );
      CREATE INDEX feeds_last_read ON feed.feeds (last_read_at);
      CREATE INDEX feeds_declared_guid ON feed.feeds (declared_guid)
        WHERE declared_guid IS NOT NULL;

      -- The state of fetching, apart from the feeds, because each fetch writes it.
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
        -- The consecutive answers with 410.
        gone_count integer NOT NULL DEFAULT 0,
        failing_since timestamptz,
        fault text,
        -- Until when a pushed feed is not fetched.
        pushed_until timestamptz NOT NULL DEFAULT '-infinity',
        -- The URL that the server of the feed names, and since when and how often it did.
        move_to text,
        move_seen integer NOT NULL DEFAULT 0,
        move_since timestamptz,
        move_proven boolean NOT NULL DEFAULT false,
        -- The URL and the guid that were last applied to the followers, each with its time.
        moved_to text,
        moved_at timestamptz,
        named_guid uuid,
        named_at timestamptz,
        -- When its followers were last visited.
        visited_at timestamptz NOT NULL DEFAULT '-infinity',
        CONSTRAINT fetches_pkey PRIMARY KEY (url_sha256),
        CONSTRAINT fetches_feed_fkey FOREIGN KEY (url_sha256) REFERENCES feed.feeds (url_sha256)
          ON DELETE CASCADE
      );
      CREATE INDEX fetches_due ON feed.fetches (lane, next_at);

      -- A lane is a host, or a family of hosts. It has one request at a time.
      CREATE TABLE feed.lanes (
        lane text NOT NULL,
        -- When its next feed is due.
        next_at timestamptz NOT NULL,
        -- The end of a lease, a pause or a block.
        busy_until timestamptz NOT NULL DEFAULT '-infinity',
        -- The consecutive answers with 429.
        blocks integer NOT NULL DEFAULT 0,
        CONSTRAINT lanes_pkey PRIMARY KEY (lane)
      );
      CREATE INDEX lanes_due ON feed.lanes (next_at);
      GRANT SELECT, INSERT, UPDATE, DELETE ON feed.feeds, feed.fetches, feed.lanes
        TO podcast_sync_feed_group;

      -- The pictures of feeds.
      CREATE TABLE feed.images (
        url_sha256 bytea NOT NULL,
        -- The name of the picture in answers. A new picture has a new one, so that caches keep it.
        id uuid NOT NULL,
        -- The URL at the publisher.
        source text NOT NULL,
        -- A WebP image of 256 x 256 pixels; null until the source was read.
        bytes bytea,
        -- When the source is read next. A started fetch postpones it.
        next_at timestamptz NOT NULL,
        -- The fetches since the last success.
        failures integer NOT NULL DEFAULT 0,
        CONSTRAINT images_pkey PRIMARY KEY (url_sha256),
        CONSTRAINT images_id UNIQUE (id),
        CONSTRAINT images_size CHECK (octet_length(bytes) <= 65536),
        CONSTRAINT images_feed_fkey FOREIGN KEY (url_sha256) REFERENCES feed.feeds (url_sha256)
          ON DELETE CASCADE
      );
      CREATE INDEX images_due ON feed.images (next_at);
      GRANT SELECT, INSERT, UPDATE, DELETE ON feed.images TO podcast_sync_feed_group;

      -- Requests of users who look at a feed before they subscribe: a few rows, for seconds,
      -- without a user.
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

      -- Feeds of new episodes without a title: an outbox of the episode service.
      CREATE TABLE feed.touched (
        id bigint GENERATED ALWAYS AS IDENTITY,
        url text NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT touched_pkey PRIMARY KEY (id)
      );
      GRANT SELECT, DELETE ON feed.touched TO podcast_sync_feed_group;
      GRANT INSERT ON feed.touched TO podcast_sync_episode_group;

      -- Visits to the followers of a feed, in the order of user ids.
      CREATE TABLE feed.tasks (
        id bigint GENERATED ALWAYS AS IDENTITY,
        url_sha256 bytea NOT NULL,
        kind text NOT NULL,
        -- The last visited user.
        cursor uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000',
        -- Restarted while it runs if it is created again.
        created_at timestamptz NOT NULL DEFAULT now(),
        -- The end of a lease.
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
