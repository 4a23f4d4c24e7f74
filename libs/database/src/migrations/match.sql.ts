// SQL functions for merging subscriptions: `match_subscriptions` finds pairs of episodes to merge,
// and `count_states` counts the episode states of subscriptions.

import { unknownDate } from './status.sql.js';

/** SQL of the comparable form of an episode's enclosure_url (ADR 45). */
const comparableUrlSql = (episode: string) =>
  `coalesce(${episode}.comparable_enclosure_url, ${episode}.enclosure_url)`;

/** Returns SQL of a call that returns the match keys `k` of an episode `e`. */
const callMatchKeys = (isSurvivor: boolean) =>
  `episode.match_keys(e.episode_guid, e.title, e.publish_date, e.episode_url,
          ${comparableUrlSql('e')}, ${isSurvivor}) k`;

/** SQL of the functions that match the episodes of subscriptions. */
export const matchSubscriptions = `
  -- The same rule as matchKeys in apps/episode/src/match.rules.ts, which explains the rule.
  -- merge-subscription.int-spec.ts next to that file compares the two. The parameters are columns
  -- instead of a row, because on Citus the row of a shard has another type than the table.
  CREATE FUNCTION episode.match_keys(
    p_episode_guid text, p_title text, p_publish_date timestamptz, p_episode_url text,
    p_enclosure_url text, p_is_survivor boolean
  ) RETURNS TABLE (rank integer, key bytea)
  LANGUAGE sql STABLE AS $$
    SELECT k.rank, sync.sha256(concat_ws(E'\\n', k.kind, k.a, k.b))
    FROM (
      SELECT 1 AS rank, 'guid' AS kind, p_episode_guid AS a, '' AS b WHERE p_episode_guid <> ''
      UNION ALL
      SELECT either.rank, partner.kind || ' ' || either.kind, either.a, either.b
      FROM (VALUES
        (2, 'enclosure', nullif(p_enclosure_url, ''), ''),
        (3, 'date and url', nullif(p_publish_date, ${unknownDate})::text,
          nullif(p_episode_url, '')),
        (3, 'date and title', nullif(p_publish_date, ${unknownDate})::text,
          nullif(p_title, '')),
        (3, 'url and title', nullif(p_episode_url, ''), nullif(p_title, ''))
      ) either (rank, kind, a, b)
      CROSS JOIN (VALUES ('without guid'), ('with guid')) partner (kind)
      WHERE either.a IS NOT NULL AND either.b IS NOT NULL
        AND CASE WHEN p_is_survivor THEN partner.kind = 'without guid' OR p_episode_guid = ''
          ELSE partner.kind
            = CASE WHEN p_episode_guid = '' THEN 'without guid' ELSE 'with guid' END
        END
      UNION ALL
      SELECT 4, 'enclosure and ' || other.kind, p_enclosure_url, other.value
      FROM (VALUES
        ('date', nullif(p_publish_date, ${unknownDate})::text),
        ('url', nullif(p_episode_url, '')), ('title', nullif(p_title, ''))
      ) other (kind, value)
      WHERE p_episode_guid <> '' AND p_enclosure_url <> '' AND other.value IS NOT NULL
    ) k
  $$;

  -- Returns the pairs of episodes to merge, for pairs of subscriptions (p_from[n], p_into[n]). The
  -- settings force hash joins, because both sides can be large and new rows have no statistics.
  CREATE FUNCTION
    episode.match_subscriptions(p_user uuid, p_from bigint[], p_into bigint[])
  RETURNS TABLE (absorbed bigint, survivor bigint)
  LANGUAGE plpgsql STABLE
    SET enable_nestloop = off SET enable_mergejoin = off SET enable_bitmapscan = off
    SET jit = off SET work_mem = '64MB' AS $$
  BEGIN RETURN QUERY
    WITH f AS MATERIALIZED (
      SELECT p.pair, e.id, k.rank, k.key
      FROM unnest(p_from) WITH ORDINALITY p (subscription_id, pair), episode.episodes e,
        ${callMatchKeys(false)}
      WHERE e.user_id = p_user AND e.subscription_id = p.subscription_id
    ), i AS MATERIALIZED (
      SELECT p.pair, e.id, k.rank, k.key
      FROM unnest(p_into) WITH ORDINALITY p (subscription_id, pair), episode.episodes e,
        ${callMatchKeys(true)}
      WHERE e.user_id = p_user AND e.subscription_id = p.subscription_id
    ), best AS MATERIALIZED (
      SELECT DISTINCT ON (f.id) f.id AS absorbed, i.id AS survivor
      FROM f JOIN i ON i.pair = f.pair AND i.rank = f.rank AND i.key = f.key
      ORDER BY f.id, f.rank, i.id
    )
    -- Several absorbed episodes with different guids can match one survivor without a guid. The
    -- survivor gets the guid of the absorbed episode with the lowest id. Each other one is merged
    -- only if its enclosure_url and one more field equal those of the survivor (rank 4).
    SELECT m.absorbed, m.survivor
    FROM (
      SELECT best.absorbed, best.survivor,
        f.enclosure_url <> '' AND ${comparableUrlSql('f')} = ${comparableUrlSql('i')}
          AND ((f.publish_date = i.publish_date AND f.publish_date <> ${unknownDate})
            OR (f.episode_url <> '' AND f.episode_url = i.episode_url)
            OR (f.title <> '' AND f.title = i.title)) AS has_equal_fields,
        f.episode_guid <> '' AND i.episode_guid = '' AS sets_guid,
        row_number() OVER (
          PARTITION BY best.survivor, f.episode_guid <> '' AND i.episode_guid = '' ORDER BY f.id
        ) AS guid_order
      FROM best
      JOIN episode.episodes f ON f.user_id = p_user AND f.subscription_id = ANY (p_from)
        AND f.id = best.absorbed
      JOIN episode.episodes i ON i.user_id = p_user AND i.subscription_id = ANY (p_into)
        AND i.id = best.survivor
    ) m
    WHERE NOT m.sets_guid OR m.has_equal_fields OR m.guid_order = 1;
  END $$;
`;

/** SQL of the function that counts the states of subscriptions. */
export const countStates = `
  -- Called by the subscription service (EXECUTE is granted to podcast_sync_subscription_group).
  -- Returns the number of episode states of each subscription, at most p_limit.
  CREATE FUNCTION
    episode.count_states(p_user uuid, p_subscriptions bigint[], p_limit bigint)
  RETURNS TABLE (subscription_id bigint, states bigint)
  LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET enable_bitmapscan = off AS $$
  BEGIN RETURN QUERY
    SELECT s.id, (
      SELECT count(*) FROM (
        SELECT 1 FROM episode.episodes e
        WHERE e.user_id = p_user AND e.subscription_id = s.id LIMIT p_limit
      ) counted
    )
    FROM unnest(p_subscriptions) s (id);
  END $$;
  REVOKE EXECUTE ON FUNCTION episode.count_states(uuid, bigint[], bigint) FROM PUBLIC;
  GRANT EXECUTE ON FUNCTION episode.count_states(uuid, bigint[], bigint)
    TO podcast_sync_subscription_group;
`;
