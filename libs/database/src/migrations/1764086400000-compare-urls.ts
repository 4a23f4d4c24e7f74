import type { MigrationInterface, QueryRunner } from 'typeorm';
import { statuses } from './1763715602000-create-episode.js';
import { dropFeedFunctions, feedFunctions } from './feeds.sql.js';
import { matchSubscriptions } from './match.sql.js';
import { mergeSubscriptions } from './status.sql.js';

/**
 * Compares URLs by `comparableUrl` of the contracts instead of their text (ADR 45). Postgres cannot
 * compute that form, so services pass it, or the lookup key that is its SHA-256.
 */
export class CompareUrls1764086400000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      SET LOCAL lock_timeout = '2s';
      ALTER TABLE subscription.subscriptions ADD COLUMN has_lost_url boolean NOT NULL DEFAULT false;
      UPDATE subscription.subscriptions s SET has_lost_url = true
      WHERE s.deleted IS NOT NULL AND s.merged_into IS NULL AND NOT EXISTS (
        SELECT FROM subscription.feed_urls n
        WHERE n.user_id = s.user_id AND n.url_sha256 = sync.sha256(s.feed_url)
          AND n.subscription_id = s.id
      );
      ALTER TABLE episode.episodes ADD COLUMN comparable_enclosure_url text;
      DROP INDEX episode.episodes_enclosure;
      CREATE INDEX episodes_enclosure ON episode.episodes (
        subscription_id,
        episode.enclosure_key(episode_guid = '', coalesce(comparable_enclosure_url, enclosure_url)),
        (id + 0)
      );
    `);
    await runner.query(matchSubscriptions(comparable));
    await runner.query(mergeSubscriptions(statuses));
    await runner.query(dropFeedFunctions);
    await runner.query(ensureSubscriptionsSql);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP FUNCTION subscription.ensure_feeds(
        uuid, text[], uuid[], bytea[], timestamptz, bigint, bigint
      )
    `);
    await runner.query(feedFunctions);
    await runner.query(mergeSubscriptions(statuses, false));
    await runner.query(matchSubscriptions((e) => `${e}.enclosure_url`));
    await runner.query(`
      DROP INDEX episode.episodes_enclosure;
      CREATE INDEX episodes_enclosure ON episode.episodes (
        subscription_id, episode.enclosure_key(episode_guid = '', enclosure_url), (id + 0)
      );
      ALTER TABLE episode.episodes DROP COLUMN comparable_enclosure_url;
      ALTER TABLE subscription.subscriptions DROP COLUMN has_lost_url;
    `);
  }
}

/** Returns SQL of the form by which an episode's enclosure URL is compared. */
export const comparable = (episode: string) =>
  `coalesce(${episode}.comparable_enclosure_url, ${episode}.enclosure_url)`;

/** SQL of the function that creates missing subscriptions. */
export const ensureSubscriptionsSql = `
  -- EXECUTE is granted to the episode service, which runs it in the transaction that writes
  -- episodes. Creates an unsubscribed subscription with the derived guid for each URL that matches
  -- none, while the quotas p_live and p_names are not reached. A URL matches by its lookup key or
  -- derived guid. Returns the number of new subscriptions.
  CREATE OR REPLACE FUNCTION subscription.ensure_feeds(
    p_user uuid, p_urls text[], p_guids uuid[], p_keys bytea[], p_stamp timestamptz,
    p_live bigint, p_names bigint
  ) RETURNS integer
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  DECLARE
    v_url text;
    v_guid uuid;
    v_key bytea;
    v_id bigint;
    v_made integer := 0;
    v_room bigint;
  BEGIN
    SELECT least(
      p_live - coalesce(max(t.live), 0),
      p_names - coalesce(max(t.guids), 0), p_names - coalesce(max(t.urls), 0)
    ) INTO v_room
    FROM subscription.totals t WHERE t.user_id = p_user;
    FOR v_url, v_guid, v_key IN SELECT * FROM unnest(p_urls, p_guids, p_keys) LOOP
      EXIT WHEN v_made >= v_room;
      CONTINUE WHEN EXISTS (
        SELECT 1 FROM subscription.feed_urls u WHERE u.user_id = p_user AND u.url_sha256 = v_key
      ) OR EXISTS (
        SELECT 1 FROM subscription.guids g WHERE g.user_id = p_user AND g.guid = v_guid
      );
      INSERT INTO subscription.subscriptions (
        user_id, feed_url, guid, is_subscribed, is_subscribed_at, subscription_changed, changed
      ) VALUES (p_user, v_url, v_guid, false, 'epoch', p_stamp, p_stamp) RETURNING id INTO v_id;
      INSERT INTO subscription.guids (user_id, guid, subscription_id, attached, sent, derived)
      VALUES (p_user, v_guid, v_id, p_stamp, false, true);
      INSERT INTO subscription.feed_urls (user_id, url_sha256, subscription_id)
      VALUES (p_user, v_key, v_id);
      v_made := v_made + 1;
    END LOOP;
    IF v_made > 0 THEN
      INSERT INTO subscription.totals AS t (user_id, live, guids, urls)
      VALUES (p_user, v_made, v_made, v_made)
      ON CONFLICT (user_id) DO UPDATE
        SET live = t.live + v_made, guids = t.guids + v_made, urls = t.urls + v_made;
    END IF;
    RETURN v_made;
  END $$;

  REVOKE EXECUTE ON FUNCTION subscription.ensure_feeds(
    uuid, text[], uuid[], bytea[], timestamptz, bigint, bigint
  ) FROM PUBLIC;
  GRANT EXECUTE ON FUNCTION subscription.ensure_feeds(
    uuid, text[], uuid[], bytea[], timestamptz, bigint, bigint
  ) TO podcast_sync_subscription_group, podcast_sync_episode_group;
`;
