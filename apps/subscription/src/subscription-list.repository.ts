import type { ListRequest, ReplyOf, listSubscriptions } from '#contracts';
import { type Database, listing, listPage } from '#database';

/** SQL condition: `guid` is the current guid of a subscription other than `r` or its survivor. */
const belongsToAnother = (guid: string) => `EXISTS (
  SELECT 1 FROM subscription.guids g
  JOIN subscription.subscriptions x ON x.user_id = $1 AND x.id = g.subscription_id
  WHERE g.user_id = $1 AND g.guid = ${guid}
    AND g.subscription_id <> coalesce(r.merged_into, r.id) AND x.guid = g.guid)`;

/**
 * SQL of each row `r`, its survivor `s` (NULL unless `r` was merged), and `seen.guid`, the guid
 * under which the client has stored `r`.
 */
const shownRows = `subscription.subscriptions r
  LEFT JOIN subscription.subscriptions s ON s.user_id = $1 AND s.id = r.merged_into
  CROSS JOIN LATERAL (
    SELECT CASE WHEN r.guid_changed > $2 THEN coalesce(
      (SELECT f.guid FROM subscription.former_guids f
       WHERE f.user_id = $1 AND f.subscription_id = r.id AND f.replaced > $2
         AND NOT ${belongsToAnother('f.guid')}
       ORDER BY f.replaced LIMIT 1), r.guid) ELSE r.guid END AS guid
  ) seen`;

/**
 * Lists one item per changed subscription.
 * - `guid` is the guid of the subscription at `since`, or without `since` its first guid. Guids
 *   that are now current for another subscription are skipped, because a client would overwrite the
 *   entry of that subscription.
 * - A merged subscription has the values of its survivor. It is omitted if its guid is the current
 *   guid of the survivor or of another subscription.
 */
export const list = listing('subscription.list', {
  row: 'r',
  columns: `r.id, seen.guid, coalesce(s.guid, r.guid) AS "newGuid",
    CASE WHEN s.id IS NULL THEN r.guid_changed ELSE greatest(r.merged_at, s.guid_changed) END
      AS "guidChanged",
    coalesce(s.feed_url, r.feed_url) AS "feedUrl",
    coalesce(s.is_subscribed, r.is_subscribed) AS "isSubscribed",
    coalesce(s.subscription_changed, r.subscription_changed) AS "subscriptionChanged",
    coalesce(s.title, r.title) AS title,
    CASE WHEN s.id IS NULL THEN r.deleted ELSE s.deleted END AS deleted`,
  matching: shownRows,
  where: `(s.id IS NULL OR (seen.guid <> s.guid AND NOT ${belongsToAnother('seen.guid')}))`,
});

interface ListRow {
  guid: string;
  newGuid: string;
  guidChanged: string | null;
  feedUrl: string;
  isSubscribed: boolean;
  subscriptionChanged: string;
  title: string | null;
  deleted: string | null;
}

/** Returns one page of the subscriptions that changed after `since`, or of all without `since`. */
export function listChanged(
  database: Database,
  request: ListRequest,
): Promise<ReplyOf<typeof listSubscriptions>> {
  return listPage(database, list, request, (row: ListRow) => ({
    feed_url: row.feedUrl,
    guid: row.guid,
    is_subscribed: row.isSubscribed,
    subscription_changed: row.subscriptionChanged,
    ...(row.newGuid !== row.guid && {
      new_guid: row.newGuid,
      ...(row.guidChanged && { guid_changed: row.guidChanged }),
    }),
    ...(row.title !== null && { title: row.title }),
    ...(row.deleted && { deleted: row.deleted }),
  }));
}
