import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Adds what gives episodes of users the titles of their feeds: feeds whose titles are needed, and
 * tasks that visit the followers of a feed.
 */
export class DescribeEpisodes1764102001000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      SET LOCAL lock_timeout = '2s';

      -- Feeds of new episodes without a title: an outbox of the episode service.
      CREATE TABLE feed.touched (
        id bigint GENERATED ALWAYS AS IDENTITY,
        url text NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT touched_pkey PRIMARY KEY (id)
      );
      GRANT SELECT, DELETE ON feed.touched TO podcast_sync_feed_group;
      GRANT USAGE ON SCHEMA feed TO podcast_sync_episode_group;
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
        CONSTRAINT tasks_pkey PRIMARY KEY (id),
        CONSTRAINT tasks_kind CHECK (kind IN ('describe')),
        CONSTRAINT tasks_feed UNIQUE (url_sha256, kind),
        CONSTRAINT tasks_feed_fkey FOREIGN KEY (url_sha256) REFERENCES feed.feeds (url_sha256)
          ON DELETE CASCADE
      );
      GRANT SELECT, INSERT, UPDATE, DELETE ON feed.tasks TO podcast_sync_feed_group;

      -- Published to the episode service: the newest episodes of feeds. A contract; change it like
      -- a message.
      CREATE VIEW feed.known_episodes AS SELECT f.url_sha256, f.episodes FROM feed.feeds f;
      GRANT SELECT ON feed.known_episodes, subscription.followed_feeds
        TO podcast_sync_episode_group;

      -- Published to the feed service: who follows a URL, by its lookup key.
      -- An expression, so that Postgres does not use the index to look up the URL of one user.
      CREATE INDEX feed_urls_by_url
        ON subscription.feed_urls ((url_sha256 || ''::bytea), user_id);
      CREATE VIEW subscription.followers AS
        SELECT u.url_sha256 || ''::bytea AS url_sha256, u.user_id, s.id AS subscription_id,
          s.feed_url
        FROM subscription.feed_urls u
        JOIN subscription.subscriptions s ON s.user_id = u.user_id AND s.id = u.subscription_id
        WHERE s.is_subscribed AND s.merged_into IS NULL;
      CREATE INDEX episodes_untitled ON episode.episodes (user_id, subscription_id, id)
        WHERE title = '';
      CREATE VIEW episode.untitled AS
        SELECT e.user_id, e.subscription_id FROM episode.episodes e WHERE e.title = '';
      GRANT USAGE ON SCHEMA episode TO podcast_sync_feed_group;
      GRANT SELECT ON subscription.followers, episode.untitled TO podcast_sync_feed_group;

      -- A cluster checks the rights of the reader of a view.
      GRANT SELECT (changed, merged_into, title) ON subscription.subscriptions
        TO podcast_sync_episode_group;
      GRANT SELECT (user_id, url_sha256, subscription_id) ON subscription.feed_urls
        TO podcast_sync_feed_group;
      GRANT SELECT (user_id, subscription_id, title) ON episode.episodes
        TO podcast_sync_feed_group;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      REVOKE SELECT (user_id, subscription_id, title) ON episode.episodes
        FROM podcast_sync_feed_group;
      REVOKE SELECT (user_id, url_sha256, subscription_id) ON subscription.feed_urls
        FROM podcast_sync_feed_group;
      REVOKE SELECT (changed, merged_into, title) ON subscription.subscriptions
        FROM podcast_sync_episode_group;
      REVOKE USAGE ON SCHEMA episode FROM podcast_sync_feed_group;
      DROP VIEW episode.untitled;
      DROP INDEX episode.episodes_untitled;
      DROP VIEW subscription.followers;
      DROP INDEX subscription.feed_urls_by_url;
      REVOKE SELECT ON subscription.followed_feeds FROM podcast_sync_episode_group;
      DROP VIEW feed.known_episodes;
      DROP TABLE feed.tasks;
      DROP TABLE feed.touched;
      REVOKE USAGE ON SCHEMA feed FROM podcast_sync_episode_group;
    `);
  }
}
