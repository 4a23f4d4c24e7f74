import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Adds the listener's title of a subscription, and the time of its last change (ADR 54). */
export class AddSubscriptionTitle1764101000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      SET LOCAL lock_timeout = '2s';
      ALTER TABLE subscription.subscriptions
        ADD COLUMN title text,
        ADD COLUMN title_at timestamptz;
      -- A tombstone keeps no title.
      GRANT UPDATE (title, title_at) ON subscription.subscriptions TO podcast_sync_deletion_group;
      -- The feed service answers with the listener's title instead of the publisher's. A cluster
      -- checks the rights of the reader of a view.
      GRANT SELECT (title) ON subscription.subscriptions TO podcast_sync_feed_group;
      CREATE OR REPLACE VIEW subscription.followed_feeds AS
        SELECT s.user_id, s.id AS subscription_id, s.guid, s.feed_url, s.changed, s.title
        FROM subscription.subscriptions s WHERE s.is_subscribed AND s.merged_into IS NULL;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP VIEW subscription.followed_feeds;
      ALTER TABLE subscription.subscriptions DROP COLUMN title, DROP COLUMN title_at;
      CREATE VIEW subscription.followed_feeds AS
        SELECT s.user_id, s.id AS subscription_id, s.guid, s.feed_url, s.changed
        FROM subscription.subscriptions s WHERE s.is_subscribed AND s.merged_into IS NULL;
      GRANT SELECT ON subscription.followed_feeds TO podcast_sync_feed_group;
    `);
  }
}
