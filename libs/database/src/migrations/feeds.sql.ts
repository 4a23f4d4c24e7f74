// Functions of create-subscription that find and create subscriptions by feed URLs.

/** Maximum number of current, and of other, URLs for `subscription.twins_of` to compare. */
const maxEncoded = 500;
const isEncoded = (url: string) => `strpos(${url}, '%') > 0 AND octet_length(${url}) <= 1024`;

/**
 * SQL of `subscription.twins_of`, which finds subscriptions by percent-decoded URLs, and of
 * `subscription.ensure_feeds`, which creates missing ones under the lock of the user's clock.
 */
export const feedFunctions = `
  -- A URL without percent-encoding, as decodeURIComponent returns it. A URL that can't be decoded
  -- is returned unchanged.
  CREATE FUNCTION subscription.decoded_url(p_url text) RETURNS text
  LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
  BEGIN
    IF strpos(p_url, '%') = 0 OR p_url ~ '%(?![0-9A-Fa-f]{2})' THEN
      RETURN p_url;
    END IF;
    RETURN convert_from(decode((
      SELECT string_agg(
        CASE WHEN p.place = 1 THEN encode(convert_to(p.part, 'UTF8'), 'hex')
          ELSE left(p.part, 2) || encode(convert_to(substr(p.part, 3), 'UTF8'), 'hex')
        END, '' ORDER BY p.place)
      FROM unnest(string_to_array(p_url, '%')) WITH ORDINALITY p (part, place)
    ), 'hex'), 'UTF8');
  EXCEPTION WHEN character_not_in_repertoire THEN
    RETURN p_url;
  END $$;

  -- EXECUTE is granted to the episode service. Returns, for URLs without a subscription, a URL of
  -- the only subscription whose URL is equal without percent-encoding, because clients return
  -- feed URLs decoded. A live subscription precedes a tombstone. The function compares at most
  -- ${maxEncoded} current and ${maxEncoded} other encoded URLs of the user.
  CREATE FUNCTION subscription.twins_of(p_user uuid, p_urls text[])
    RETURNS TABLE (url text, twin text, live boolean)
  LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  BEGIN
    RETURN QUERY
    WITH sent AS MATERIALIZED (
      SELECT u.url, subscription.decoded_url(u.url) AS decoded FROM unnest(p_urls) u (url)
    ), stored AS MATERIALIZED (
      SELECT d.decoded, d.decoded AS url, found.id, found.live
      FROM (SELECT DISTINCT s.decoded FROM sent s) d CROSS JOIN LATERAL (
        SELECT r.id, r.deleted IS NULL AS live
        FROM subscription.feed_urls f
        JOIN subscription.subscriptions r ON r.user_id = p_user AND r.id = f.subscription_id
        WHERE f.user_id = p_user AND f.url_sha256 = sync.sha256(d.decoded) OFFSET 0
      ) found
      UNION ALL
      SELECT subscription.decoded_url(c.feed_url), c.feed_url, c.id, c.live FROM (
        SELECT r.feed_url, r.id, r.deleted IS NULL AS live FROM subscription.subscriptions r
        WHERE r.user_id = p_user AND r.merged_into IS NULL AND ${isEncoded('r.feed_url')}
        ORDER BY r.id LIMIT ${maxEncoded}
      ) c
      UNION ALL
      SELECT subscription.decoded_url(o.url), o.url, found.id, found.live FROM (
        SELECT f.url, f.subscription_id FROM subscription.feed_urls f
        WHERE f.user_id = p_user AND ${isEncoded('f.url')} ORDER BY f.url_sha256
        LIMIT ${maxEncoded}
      ) o CROSS JOIN LATERAL (
        SELECT r.id, r.deleted IS NULL AS live FROM subscription.subscriptions r
        WHERE r.user_id = p_user AND r.id = o.subscription_id OFFSET 0
      ) found
    ), matches AS (
      SELECT s.url, c.url AS twin, c.id, c.live,
        bool_or(c.live) OVER (PARTITION BY s.url) AS has_live
      FROM sent s JOIN stored c USING (decoded)
    )
    SELECT m.url, min(m.twin), m.has_live FROM matches m WHERE m.live = m.has_live
    GROUP BY m.url, m.has_live HAVING count(DISTINCT m.id) = 1;
  END $$;

  -- EXECUTE is granted to the episode service, which runs it in the transaction that writes
  -- episodes. Creates an unsubscribed subscription with the derived guid for each URL without one,
  -- while the quotas p_live and p_names are not reached. Returns the URL of each live subscription,
  -- and whether it is new. A tombstone is unchanged and omitted.
  CREATE FUNCTION subscription.ensure_feeds(
    p_user uuid, p_urls text[], p_guids uuid[], p_stamp timestamptz, p_live bigint, p_names bigint
  ) RETURNS TABLE (url text, name text, made boolean)
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  DECLARE
    v_guid uuid;
    v_id bigint;
    v_live boolean;
    v_twin_live boolean;
    v_made bigint := 0;
    v_room bigint;
  BEGIN
    SELECT least(p_live - coalesce(t.live, 0), p_names - coalesce(t.guids, 0),
      p_names - coalesce(t.urls, 0)) INTO v_room
    FROM (VALUES (true)) one LEFT JOIN subscription.totals t ON t.user_id = p_user;
    FOR url, v_guid, name, v_twin_live IN
      SELECT s.url, s.guid, t.twin, t.live
      FROM unnest(p_urls, p_guids) WITH ORDINALITY s (url, guid, place)
      LEFT JOIN subscription.twins_of(p_user, p_urls) t ON t.url = s.url ORDER BY s.place
    LOOP
      SELECT bool_or(n.live) INTO v_live FROM (
        SELECT u.live FROM subscription.named_by_url u
        WHERE u.user_id = p_user AND u.url_sha256 = sync.sha256(url)
        UNION ALL
        SELECT g.live FROM subscription.named_subscriptions g
        WHERE g.user_id = p_user AND g.guid = v_guid
      ) n;
      made := v_live IS NULL AND v_twin_live IS NULL AND v_room > v_made;
      IF v_live IS NOT NULL OR made THEN
        name := url;
      END IF;
      IF made THEN
        INSERT INTO subscription.subscriptions (
          user_id, feed_url, guid, is_subscribed, is_subscribed_at, subscription_changed, changed
        ) VALUES (p_user, url, v_guid, false, 'epoch', p_stamp, p_stamp) RETURNING id INTO v_id;
        INSERT INTO subscription.guids (user_id, guid, subscription_id, attached, sent, derived)
        VALUES (p_user, v_guid, v_id, p_stamp, false, true);
        INSERT INTO subscription.feed_urls (user_id, url_sha256, subscription_id)
        VALUES (p_user, sync.sha256(url), v_id);
        v_made := v_made + 1;
      END IF;
      IF made OR coalesce(v_live, v_twin_live, false) THEN
        RETURN NEXT;
      END IF;
    END LOOP;
    IF v_made > 0 THEN
      INSERT INTO subscription.totals AS t (user_id, live, guids, urls)
      VALUES (p_user, v_made, v_made, v_made)
      ON CONFLICT (user_id) DO UPDATE
      SET live = t.live + v_made, guids = t.guids + v_made, urls = t.urls + v_made;
    END IF;
  END $$;

  REVOKE EXECUTE ON FUNCTION subscription.twins_of(uuid, text[]),
    subscription.ensure_feeds(uuid, text[], uuid[], timestamptz, bigint, bigint) FROM PUBLIC;
  GRANT EXECUTE
    ON FUNCTION subscription.ensure_feeds(uuid, text[], uuid[], timestamptz, bigint, bigint)
    TO podcast_sync_subscription_group, podcast_sync_episode_group;
  GRANT EXECUTE ON FUNCTION subscription.twins_of(uuid, text[]) TO podcast_sync_subscription_group;
`;

/** SQL that drops {@link feedFunctions}. */
export const dropFeedFunctions = `
  DROP FUNCTION subscription.ensure_feeds(uuid, text[], uuid[], timestamptz, bigint, bigint);
  DROP FUNCTION subscription.twins_of(uuid, text[]);
  DROP FUNCTION subscription.decoded_url(text);
`;
