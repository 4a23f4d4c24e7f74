import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Creates the tables of subscriptions and of their guids and URLs, and the views that the other
 * services read.
 */
export class CreateSubscription1764195000002 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE SCHEMA subscription;
      GRANT USAGE ON SCHEMA subscription
        TO podcast_sync_subscription_group, podcast_sync_episode_group,
        podcast_sync_deletion_group, podcast_sync_dump_group, podcast_sync_feed_group;

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
        -- The stamp of the last change of is_subscribed; NULL if it never was true.
        flipped timestamptz(3),
        declared_guids integer NOT NULL DEFAULT 0,
        deletion_id bigint,
        guid_changed timestamptz(3),
        deleted timestamptz(3),
        merged_into bigint,
        merged_at timestamptz(3),
        changed timestamptz(3) NOT NULL,
        -- True for a tombstone whose feed_url belongs to another subscription.
        has_lost_url boolean NOT NULL DEFAULT false,
        -- The listener's own title, and the time of its last change by the client's clock (ADR 54).
        title text,
        title_at timestamptz,
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
        CONSTRAINT subscriptions_declared_guids_not_negative CHECK (declared_guids >= 0),
        -- Services read ids as numbers of JavaScript.
        CONSTRAINT subscriptions_id_is_exact CHECK (id <= 9007199254740991),
        CONSTRAINT subscriptions_merged_together
          CHECK ((merged_into IS NULL) = (merged_at IS NULL)),
        CONSTRAINT subscriptions_tombstone_is_unsubscribed
          CHECK (deleted IS NULL OR NOT is_subscribed)
      );
      CREATE INDEX subscriptions_changed ON subscription.subscriptions (user_id, changed, id);
      -- These indexes contain tombstones by age, and pointers by their target.
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
        -- The URL. NULL if it is the subscription's feed_url, or if its text was never stored.
        url text,
        CONSTRAINT feed_urls_pkey PRIMARY KEY (user_id, url_sha256),
        CONSTRAINT feed_urls_subscription_id_fkey FOREIGN KEY (user_id, subscription_id)
          REFERENCES subscription.subscriptions (user_id, id)
      );
      CREATE INDEX feed_urls_subscription ON subscription.feed_urls (subscription_id, user_id);
      -- The index has an expression, so that Postgres does not use it to look up a user's URL.
      CREATE INDEX feed_urls_by_url ON subscription.feed_urls ((url_sha256 || ''::bytea), user_id);
      GRANT SELECT, INSERT, UPDATE ON subscription.feed_urls TO podcast_sync_subscription_group;

      -- Numbers of rows for each user's quotas, updated by the statements that add or remove rows.
      -- Counting for each write would read all rows of the user.
      CREATE TABLE subscription.totals (
        user_id uuid NOT NULL,
        live bigint NOT NULL DEFAULT 0,
        pointers bigint NOT NULL DEFAULT 0,
        guid_changes bigint NOT NULL DEFAULT 0,
        guids bigint NOT NULL DEFAULT 0,
        urls bigint NOT NULL DEFAULT 0,
        CONSTRAINT totals_pkey PRIMARY KEY (user_id),
        CONSTRAINT totals_not_negative CHECK (least(live, pointers, guid_changes, guids, urls) >= 0)
      );
      GRANT SELECT, INSERT, UPDATE ON subscription.totals TO podcast_sync_subscription_group;
      GRANT SELECT, UPDATE ON subscription.totals TO podcast_sync_deletion_group;

      -- Published to the other services: the subscription of a guid. A contract; change it like a
      -- message.
      CREATE VIEW subscription.subscriptions_by_guid AS
        SELECT g.user_id, g.guid, s.id AS subscription_id, s.guid AS current_guid,
          s.deleted IS NULL AS is_live,
          s.is_subscribed, s.is_subscribed_at, s.deletion_id, s.feed_url
        FROM subscription.guids g
        JOIN subscription.subscriptions s ON s.user_id = g.user_id AND s.id = g.subscription_id;
      GRANT SELECT ON subscription.subscriptions_by_guid
        TO podcast_sync_episode_group, podcast_sync_deletion_group, podcast_sync_feed_group;

      -- Published to the other services: the subscription of a URL, by the URL's SHA-256.
      CREATE VIEW subscription.subscriptions_by_url AS
        SELECT u.user_id, u.url_sha256, s.id AS subscription_id, s.guid AS current_guid,
          s.deleted IS NULL AS is_live,
          s.is_subscribed, s.is_subscribed_at, s.deletion_id, s.feed_url
        FROM subscription.feed_urls u
        JOIN subscription.subscriptions s ON s.user_id = u.user_id AND s.id = u.subscription_id;
      GRANT SELECT ON subscription.subscriptions_by_url TO podcast_sync_episode_group;

      -- Published to the other services: the current guid and feed URL of a subscription by its row
      -- id.
      CREATE VIEW subscription.current_guids AS
        SELECT s.user_id, s.id AS subscription_id, s.guid, s.feed_url
        FROM subscription.subscriptions s;
      GRANT SELECT ON subscription.current_guids TO podcast_sync_episode_group;

      -- Published to the other services: the feeds that a user follows, with the listener's titles.
      CREATE VIEW subscription.followed_feeds AS
        SELECT s.user_id, s.id AS subscription_id, s.guid, s.feed_url, s.changed, s.title
        FROM subscription.subscriptions s WHERE s.is_subscribed AND s.merged_into IS NULL;
      GRANT SELECT ON subscription.followed_feeds
        TO podcast_sync_feed_group, podcast_sync_episode_group;

      -- Published to the feed service: the followers of a URL, by its lookup key.
      CREATE VIEW subscription.followers AS
        SELECT u.url_sha256 || ''::bytea AS url_sha256, u.user_id, s.id AS subscription_id,
          s.feed_url, s.guid, s.declared_guids
        FROM subscription.feed_urls u
        JOIN subscription.subscriptions s ON s.user_id = u.user_id AND s.id = u.subscription_id
        WHERE s.is_subscribed AND s.merged_into IS NULL;
      GRANT SELECT ON subscription.followers TO podcast_sync_feed_group;

      -- The columns that the views show. Citus checks the privileges of the reader of a view,
      -- not of its owner.
      GRANT SELECT (
        user_id, id, guid, feed_url, is_subscribed, is_subscribed_at, deleted, deletion_id, changed,
        merged_into, title
      ) ON subscription.subscriptions TO podcast_sync_episode_group, podcast_sync_feed_group;
      GRANT SELECT (declared_guids) ON subscription.subscriptions TO podcast_sync_feed_group;
      GRANT SELECT (user_id, guid, subscription_id) ON subscription.guids
        TO podcast_sync_episode_group, podcast_sync_feed_group;
      GRANT SELECT (user_id, url_sha256, subscription_id) ON subscription.feed_urls
        TO podcast_sync_episode_group, podcast_sync_feed_group;

      -- The deletion worker sets deletion_id at a DELETE, makes the row a tombstone in the cascade,
      -- and deletes the oldest tombstones above a quota with their guids and URLs.
      GRANT
        SELECT,
        UPDATE (
          is_subscribed, is_subscribed_at, flipped, subscription_changed, deletion_id, deleted,
          changed, title, title_at
        ),
        DELETE
        ON subscription.subscriptions TO podcast_sync_deletion_group;
      GRANT SELECT, DELETE ON subscription.guids, subscription.feed_urls, subscription.former_guids
        TO podcast_sync_deletion_group;
      GRANT SELECT ON subscription.subscriptions TO podcast_sync_dump_group;
    `);
    await runner.query(ensureFeeds);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP SCHEMA subscription CASCADE');
  }
}

const ensureFeeds = `
  -- Called by the subscription service and, in the transaction that writes episodes, by the episode
  -- service (EXECUTE is granted to podcast_sync_subscription_group and podcast_sync_episode_group).
  -- Creates an unsubscribed subscription with the derived guid for each URL that matches none,
  -- until p_live_quota, or p_name_quota of guids or URLs, is reached. A URL matches by its lookup
  -- key or derived guid. Returns the number of new subscriptions.
  CREATE FUNCTION subscription.ensure_feeds(
    p_user uuid, p_urls text[], p_guids uuid[], p_keys bytea[], p_stamp timestamptz,
    p_live_quota bigint, p_name_quota bigint
  ) RETURNS integer
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  DECLARE
    v_url text;
    v_guid uuid;
    v_key bytea;
    v_id bigint;
    v_created integer := 0;
    v_room bigint;
  BEGIN
    SELECT least(
      p_live_quota - coalesce(max(t.live), 0),
      p_name_quota - coalesce(max(t.guids), 0), p_name_quota - coalesce(max(t.urls), 0)
    ) INTO v_room
    FROM subscription.totals t WHERE t.user_id = p_user;
    FOR v_url, v_guid, v_key IN SELECT * FROM unnest(p_urls, p_guids, p_keys) LOOP
      EXIT WHEN v_created >= v_room;
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
      v_created := v_created + 1;
    END LOOP;
    IF v_created > 0 THEN
      INSERT INTO subscription.totals AS t (user_id, live, guids, urls)
      VALUES (p_user, v_created, v_created, v_created)
      ON CONFLICT (user_id) DO UPDATE
        SET live = t.live + v_created, guids = t.guids + v_created, urls = t.urls + v_created;
    END IF;
    RETURN v_created;
  END $$;

  REVOKE EXECUTE ON FUNCTION subscription.ensure_feeds(
    uuid, text[], uuid[], bytea[], timestamptz, bigint, bigint
  ) FROM PUBLIC;
  GRANT EXECUTE ON FUNCTION subscription.ensure_feeds(
    uuid, text[], uuid[], bytea[], timestamptz, bigint, bigint
  ) TO podcast_sync_subscription_group, podcast_sync_episode_group;
`;
