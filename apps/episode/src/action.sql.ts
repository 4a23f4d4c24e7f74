import { comparableUrl, podcastGuid, urlKey } from '#contracts';
import { type Bound, statement } from '#database';
import type { Upload } from './upload.rules.js';
import type { EpisodeQuotas } from './episode.config.js';
import {
  incompleteLookups,
  jsonBytes,
  keptRows,
  keptEpisodes,
  candidateLookupSql,
  remainingQuotas,
  sameEnclosure,
  sameGuid,
} from './episode.sql.js';
import type { UploadDataResult } from './episode.repository.js';

/**
 * Returns the SQL of the live subscription that a feed URL matches: the one that has or had the
 * URL, else the one with the derived guid (docs/reference/subscriptions.md, "Identifiers"). $1 is
 * the user.
 *
 * @param key SQL of the URL's lookup key.
 * @param derivedGuid SQL of the guid that is derived from the URL.
 */
export const subscriptionOf = (key: string, derivedGuid: string) => `(
       SELECT n.subscription_id, n.current_guid, n.feed_url FROM (
         SELECT 1 AS place, u.subscription_id, u.current_guid, u.feed_url
         FROM subscription.subscriptions_by_url u
         WHERE u.user_id = $1 AND u.url_sha256 = ${key} AND u.is_live
         UNION ALL
         SELECT 2, g.subscription_id, g.current_guid, g.feed_url
         FROM subscription.subscriptions_by_guid g
         WHERE g.user_id = $1 AND g.guid = ${derivedGuid} AND g.is_live
       ) n ORDER BY n.place LIMIT 1
     )`;

/**
 * Reads the episodes that actions can match, by episode_guid and by enclosure_url (`searched`), up
 * to the limits of POST /episodes. No other field of an action identifies an episode.
 * - The enclosure_url of an action without a guid can match each episode. That of an action with a
 *   guid can match only episodes without a guid.
 * - If an episode has the guid of an action, the enclosure_url of the action is searched only if
 *   that episode has no enclosure_url.
 *
 * $1 user, $2 JSON array of feed URLs with their lookup keys and derived guids, $3 JSON array of
 * actions, $4 quota of episodes, $5 quota of aliases.
 */
export const selectActedEpisodes = statement(
  'episode.select_acted_episodes',
  `WITH feeds AS MATERIALIZED (
     SELECT f."feedUrl", n.*
     FROM json_to_recordset($2) AS f ("feedUrl" text, key text, "derivedGuid" uuid)
     CROSS JOIN LATERAL ${subscriptionOf(`decode(f.key, 'hex')`, 'f."derivedGuid"')} n
   ), entries AS MATERIALIZED (
     SELECT s.*, f.subscription_id
     FROM json_to_recordset($3) AS s (
       entry integer, "feedUrl" text, "episodeGuid" text, "enclosureUrl" text
     )
     JOIN feeds f USING ("feedUrl")
   ), by_guid AS MATERIALIZED (
     SELECT x.*, f.id, f.bytes, f.has_no_url FROM entries x LEFT JOIN LATERAL (
       SELECT e.id, ${jsonBytes} AS bytes, e.enclosure_url = '' AS has_no_url
       FROM episode.episodes e WHERE e.user_id = $1 AND ${sameGuid} LIMIT 1
     ) f ON true
   ), searched AS MATERIALIZED (
     SELECT g.entry, g.subscription_id, g."enclosureUrl", side.bare
     FROM by_guid g CROSS JOIN (VALUES (true), (false)) side (bare)
     WHERE g."enclosureUrl" IS NOT NULL AND (side.bare OR g."episodeGuid" IS NULL)
       AND (g.id IS NULL OR g.has_no_url)
   ), found AS MATERIALIZED (
     SELECT entry, 1 AS rank, id, bytes, 0::bigint AS place, false AS last
     FROM by_guid WHERE id IS NOT NULL
     ${candidateLookupSql(2, sameEnclosure)}
   ), ${keptRows}
   SELECT
     (SELECT json_agg(json_build_array("feedUrl", json_build_object(
        'id', subscription_id, 'currentGuid', current_guid
      )))
      FROM feeds) AS subscriptions,
     (SELECT json_agg(json_build_object('feedUrl', "feedUrl", 'currentUrl', feed_url))
      FROM feeds WHERE "feedUrl" <> feed_url) AS renamed,
     ${keptEpisodes},
     ${incompleteLookups},
     (SELECT json_agg(nextval('episode.episode_id')) FROM by_guid WHERE id IS NULL) AS "newIds",
     'all' AS reach,
     ${remainingQuotas('$4', '$5')}`,
);

/**
 * The result of {@link selectActedEpisodes}. `renamed` lists the feeds whose current URL differs
 * from the URL in the actions; null if there are none.
 */
export type ActedResult = UploadDataResult & {
  renamed: { feedUrl: string; currentUrl: string }[] | null;
};

/**
 * Creates an unsubscribed subscription for each URL that matches none, until a quota is reached.
 * Returns the number of new subscriptions. $1 user, $2 URLs, $3 their derived guids, $4 their
 * lookup keys, $5 stamp, $6 quota of live subscriptions, $7 quota of guids and of URLs, each.
 */
export const ensureSubscriptions = statement(
  'episode.ensure_subscriptions',
  `SELECT subscription.ensure_feeds($1, $2::text[], $3::uuid[], $4::bytea[], $5, $6, $7)
     AS made`,
);

/**
 * Returns the statement that reads the episodes that actions can match and the current URLs of
 * their feeds.
 */
export function selectActed(
  userId: string,
  actions: readonly Upload[],
  quotas: EpisodeQuotas,
): Bound<ActedResult> {
  const feeds = [...new Set(actions.map(({ podcast }) => podcast))].map((feedUrl) => ({
    feedUrl,
    key: urlKey(feedUrl),
    derivedGuid: podcastGuid(feedUrl),
  }));
  const entries = actions.map(({ podcast, metadata: { episodeGuid, enclosureUrl } }, entry) => ({
    entry,
    feedUrl: podcast,
    episodeGuid,
    enclosureUrl: enclosureUrl && comparableUrl(enclosureUrl),
  }));
  return [
    selectActedEpisodes,
    [
      userId,
      JSON.stringify(feeds),
      JSON.stringify(entries),
      quotas.QUOTA_EPISODE_STATES,
      quotas.QUOTA_SYNC_ID_ALIASES,
    ],
  ];
}
