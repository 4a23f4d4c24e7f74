import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Creates the feeds of podcasts and the schedule of their fetches. No table names a user. All rows
 * can be read again from the publishers.
 */
export class CreateFeed1764100000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE SCHEMA feed;
      GRANT USAGE ON SCHEMA feed, sync, subscription TO podcast_sync_feed_group;
      GRANT SELECT ON sync.migrations, sync.user_clock TO podcast_sync_feed_group;

      CREATE TABLE feed.feeds (
        -- The SHA-256 of the exact URL: whoever knows it could fetch the feed.
        url_sha256 bytea NOT NULL,
        url text NOT NULL,
        -- When a follower last read it, to the day. A feed that nobody reads is removed.
        wanted timestamptz NOT NULL,
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
        CONSTRAINT feeds_pkey PRIMARY KEY (url_sha256),
        CONSTRAINT feeds_status CHECK (status IN ('pending', 'ok', 'failing', 'gone', 'refused'))
      );
      CREATE INDEX feeds_wanted ON feed.feeds (wanted);

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
        gones integer NOT NULL DEFAULT 0,
        failing_since timestamptz,
        fault text,
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

      -- Published to the feed service: what a user follows. A contract; change it like a message.
      CREATE VIEW subscription.followed_feeds AS
        SELECT s.user_id, s.id AS subscription_id, s.guid, s.feed_url, s.changed
        FROM subscription.subscriptions s WHERE s.is_subscribed AND s.merged_into IS NULL;
      GRANT SELECT ON subscription.followed_feeds, subscription.named_subscriptions
        TO podcast_sync_feed_group;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      REVOKE SELECT ON subscription.named_subscriptions FROM podcast_sync_feed_group;
      DROP VIEW subscription.followed_feeds;
      DROP TABLE feed.lanes;
      DROP TABLE feed.fetches;
      DROP TABLE feed.feeds;
      DROP SCHEMA feed;
      REVOKE SELECT ON sync.migrations, sync.user_clock FROM podcast_sync_feed_group;
      REVOKE USAGE ON SCHEMA sync, subscription FROM podcast_sync_feed_group;
    `);
  }
}
