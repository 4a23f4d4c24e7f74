import type { MigrationInterface, QueryRunner } from 'typeorm';
import { dropFeedFunctions, feedFunctions } from './feeds.sql.js';

/** Creates subscriptions, their guids and URLs, and the views that the other services read. */
export class CreateSubscription1763715601000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE SCHEMA subscription;
      GRANT USAGE ON SCHEMA subscription
        TO podcast_sync_subscription_group, podcast_sync_episode_group,
        podcast_sync_deletion_group, podcast_sync_dump_group;

      CREATE SEQUENCE subscription.subscription_id;
      GRANT USAGE ON SEQUENCE subscription.subscription_id TO podcast_sync_subscription_group;

      CREATE TABLE subscription.subscriptions (
        user_id uuid NOT NULL,
        id bigint NOT NULL DEFAULT nextval('subscription.subscription_id'),
        feed_url text NOT NULL,
        guid uuid NOT NULL,
        is_subscribed boolean NOT NULL,
        subscription_changed timestamptz(3) NOT NULL,
        is_subscribed_at timestamptz NOT NULL,
        -- The last change of is_subscribed; NULL if it never was true.
        flipped timestamptz(3),
        declared_guids integer NOT NULL DEFAULT 0,
        deletion_id bigint,
        guid_changed timestamptz(3),
        deleted timestamptz(3),
        merged_into bigint,
        merged_at timestamptz(3),
        changed timestamptz(3) NOT NULL,
        CONSTRAINT subscriptions_pkey PRIMARY KEY (user_id, id),
        CONSTRAINT subscriptions_merged_into_fkey FOREIGN KEY (user_id, merged_into)
          REFERENCES subscription.subscriptions (user_id, id),
        CONSTRAINT subscriptions_changed_is_the_latest CHECK (
          changed = CASE
            WHEN merged_into IS NULL
            THEN greatest(subscription_changed, guid_changed, deleted, flipped)
            ELSE merged_at
          END
        ),
        CONSTRAINT subscriptions_declared_guids_are_no_debts CHECK (declared_guids >= 0),
        CONSTRAINT subscriptions_merged_together
          CHECK ((merged_into IS NULL) = (merged_at IS NULL)),
        CONSTRAINT subscriptions_tombstone_is_unsubscribed
          CHECK (deleted IS NULL OR NOT is_subscribed)
      );
      CREATE INDEX subscriptions_changed ON subscription.subscriptions (user_id, changed, id);
      -- Tombstones by age; pointers by their target.
      CREATE INDEX subscriptions_tombstones ON subscription.subscriptions (user_id, deleted, id)
        WHERE merged_into IS NULL AND deleted IS NOT NULL;
      CREATE INDEX subscriptions_pointers ON subscription.subscriptions (user_id, merged_into)
        WHERE merged_into IS NOT NULL;
      GRANT SELECT, INSERT, UPDATE ON subscription.subscriptions TO podcast_sync_subscription_group;

      CREATE TABLE subscription.guids (
        user_id uuid NOT NULL,
        guid uuid NOT NULL,
        subscription_id bigint NOT NULL,
        attached timestamptz(3) NOT NULL,
        sent boolean NOT NULL DEFAULT false,
        derived boolean NOT NULL DEFAULT false,
        CONSTRAINT guids_pkey PRIMARY KEY (user_id, guid),
        CONSTRAINT guids_subscription_id_fkey FOREIGN KEY (user_id, subscription_id)
          REFERENCES subscription.subscriptions (user_id, id)
      );
      -- The guids of a subscription, for merges and for the foreign key when a subscription is
      -- deleted. It starts with the subscription, which belongs to one user: Postgres would also
      -- use an index that starts with the user to look up guids.
      CREATE INDEX guids_subscription ON subscription.guids (subscription_id, user_id);
      GRANT SELECT, INSERT, UPDATE ON subscription.guids TO podcast_sync_subscription_group;

      CREATE TABLE subscription.former_guids (
        user_id uuid NOT NULL,
        subscription_id bigint NOT NULL,
        replaced timestamptz(3) NOT NULL,
        guid uuid NOT NULL,
        CONSTRAINT former_guids_pkey PRIMARY KEY (user_id, subscription_id, replaced),
        CONSTRAINT former_guids_subscription_id_fkey FOREIGN KEY (user_id, subscription_id)
          REFERENCES subscription.subscriptions (user_id, id)
      );
      GRANT SELECT, INSERT ON subscription.former_guids TO podcast_sync_subscription_group;

      CREATE TABLE subscription.feed_urls (
        user_id uuid NOT NULL,
        url_sha256 bytea NOT NULL,
        subscription_id bigint NOT NULL,
        -- The URL, if it differs or differed from the subscription's feed_url and is stored.
        url text,
        CONSTRAINT feed_urls_pkey PRIMARY KEY (user_id, url_sha256),
        CONSTRAINT feed_urls_subscription_id_fkey FOREIGN KEY (user_id, subscription_id)
          REFERENCES subscription.subscriptions (user_id, id)
      );
      CREATE INDEX feed_urls_subscription ON subscription.feed_urls (subscription_id, user_id);
      GRANT SELECT, INSERT, UPDATE ON subscription.feed_urls TO podcast_sync_subscription_group;

      -- Numbers for each user's quotas, maintained by the statements that add or remove rows. A
      -- count for each new name would read all rows of the user.
      CREATE TABLE subscription.totals (
        user_id uuid NOT NULL,
        live bigint NOT NULL DEFAULT 0,
        pointers bigint NOT NULL DEFAULT 0,
        guid_changes bigint NOT NULL DEFAULT 0,
        guids bigint NOT NULL DEFAULT 0,
        urls bigint NOT NULL DEFAULT 0,
        CONSTRAINT totals_pkey PRIMARY KEY (user_id),
        CONSTRAINT totals_are_no_debts CHECK (least(live, pointers, guid_changes, guids, urls) >= 0)
      );
      GRANT SELECT, INSERT, UPDATE ON subscription.totals TO podcast_sync_subscription_group;
      GRANT SELECT, UPDATE ON subscription.totals TO podcast_sync_deletion_group;

      -- Published to the other services: the subscription of a guid. A contract; change it like a
      -- message.
      CREATE VIEW subscription.named_subscriptions AS
        SELECT g.user_id, g.guid, s.id AS subscription_id, s.guid AS current_guid,
          s.deleted IS NULL AS live,
          s.is_subscribed, s.is_subscribed_at, s.deletion_id, s.feed_url
        FROM subscription.guids g
        JOIN subscription.subscriptions s ON s.user_id = g.user_id AND s.id = g.subscription_id;
      GRANT SELECT ON subscription.named_subscriptions
        TO podcast_sync_episode_group, podcast_sync_deletion_group;

      -- Published to the other services: the subscription of a URL, by the URL's SHA-256.
      CREATE VIEW subscription.named_by_url AS
        SELECT u.user_id, u.url_sha256, s.id AS subscription_id, s.guid AS current_guid,
          s.deleted IS NULL AS live,
          s.is_subscribed, s.is_subscribed_at, s.deletion_id, s.feed_url
        FROM subscription.feed_urls u
        JOIN subscription.subscriptions s ON s.user_id = u.user_id AND s.id = u.subscription_id;
      GRANT SELECT ON subscription.named_by_url TO podcast_sync_episode_group;

      -- Published to the other services: the current guid and feed URL of a subscription by its row
      -- id.
      CREATE VIEW subscription.current_guids AS
        SELECT s.user_id, s.id AS subscription_id, s.guid, s.feed_url
        FROM subscription.subscriptions s;
      GRANT SELECT ON subscription.current_guids TO podcast_sync_episode_group;

      -- A request for a deletion marks the row. The cascade reads it and leaves a tombstone. The
      -- oldest tombstones above a limit are deleted with their names.
      GRANT
        SELECT,
        UPDATE (
          is_subscribed, is_subscribed_at, flipped, subscription_changed, deletion_id, deleted,
          changed
        ),
        DELETE
        ON subscription.subscriptions TO podcast_sync_deletion_group;
      GRANT SELECT, DELETE ON subscription.guids, subscription.feed_urls, subscription.former_guids
        TO podcast_sync_deletion_group;
      GRANT SELECT ON subscription.subscriptions TO podcast_sync_dump_group;
    `);
    await runner.query(feedFunctions);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(dropFeedFunctions);
    await runner.query(`
      DROP VIEW subscription.current_guids;
      DROP VIEW subscription.named_by_url;
      DROP VIEW subscription.named_subscriptions;
      DROP TABLE subscription.totals;
      DROP TABLE subscription.feed_urls;
      DROP TABLE subscription.former_guids;
      DROP TABLE subscription.guids;
      DROP TABLE subscription.subscriptions;
      DROP SEQUENCE subscription.subscription_id;
      DROP SCHEMA subscription;
    `);
  }
}
