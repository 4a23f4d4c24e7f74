import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Adds candidates for new URLs of feeds, and the tasks that apply moves and declared guids. */
export class MoveFeeds1764102002000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      SET LOCAL lock_timeout = '2s';
      CREATE INDEX feeds_declared_guid ON feed.feeds (declared_guid)
        WHERE declared_guid IS NOT NULL;
      ALTER TABLE feed.fetches
        -- The URL that the server of the feed names, and since when and how often it did.
        ADD COLUMN move_to text,
        ADD COLUMN move_seen integer NOT NULL DEFAULT 0,
        ADD COLUMN move_since timestamptz,
        ADD COLUMN move_proven boolean NOT NULL DEFAULT false,
        -- What was applied to the followers, and when the feed last got it.
        ADD COLUMN moved_to text,
        ADD COLUMN moved_at timestamptz,
        ADD COLUMN named_guid uuid,
        ADD COLUMN named_at timestamptz,
        -- When its followers were last visited.
        ADD COLUMN visited_at timestamptz NOT NULL DEFAULT '-infinity';
      ALTER TABLE feed.tasks
        ADD COLUMN to_url text,
        ADD COLUMN guid uuid,
        DROP CONSTRAINT tasks_kind;
      ALTER TABLE feed.tasks
        ADD CONSTRAINT tasks_kind CHECK (kind IN ('describe', 'apply'));
      CREATE OR REPLACE VIEW subscription.followers AS
        SELECT u.url_sha256 || ''::bytea AS url_sha256, u.user_id, s.id AS subscription_id,
          s.feed_url, s.guid, s.declared_guids
        FROM subscription.feed_urls u
        JOIN subscription.subscriptions s ON s.user_id = u.user_id AND s.id = u.subscription_id
        WHERE s.is_subscribed AND s.merged_into IS NULL;
      GRANT SELECT (declared_guids) ON subscription.subscriptions TO podcast_sync_feed_group;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      REVOKE SELECT (declared_guids) ON subscription.subscriptions FROM podcast_sync_feed_group;
      DROP VIEW subscription.followers;
      CREATE VIEW subscription.followers AS
        SELECT u.url_sha256 || ''::bytea AS url_sha256, u.user_id, s.id AS subscription_id,
          s.feed_url
        FROM subscription.feed_urls u
        JOIN subscription.subscriptions s ON s.user_id = u.user_id AND s.id = u.subscription_id
        WHERE s.is_subscribed AND s.merged_into IS NULL;
      GRANT SELECT ON subscription.followers TO podcast_sync_feed_group;
      DELETE FROM feed.tasks WHERE kind = 'apply';
      ALTER TABLE feed.tasks
        DROP CONSTRAINT tasks_kind,
        DROP COLUMN guid,
        DROP COLUMN to_url;
      ALTER TABLE feed.tasks ADD CONSTRAINT tasks_kind CHECK (kind IN ('describe'));
      ALTER TABLE feed.fetches
        DROP COLUMN visited_at,
        DROP COLUMN named_at,
        DROP COLUMN named_guid,
        DROP COLUMN moved_at,
        DROP COLUMN moved_to,
        DROP COLUMN move_proven,
        DROP COLUMN move_since,
        DROP COLUMN move_seen,
        DROP COLUMN move_to;
      DROP INDEX feed.feeds_declared_guid;
    `);
  }
}
