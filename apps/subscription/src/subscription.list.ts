import type { ListRequest, ReplyOf, listSubscriptions } from '#contracts';
import { type Database, listing, listPage } from '#database';

/** Whether a guid is the current one of another subscription than row r, or than the one that r was merged into. */
const isAnothers = (guid: string) => `EXISTS (
  SELECT FROM subscription.guids g JOIN subscription.subscriptions x ON x.user_id = g.user_id AND x.id = g.subscription_id
  WHERE g.user_id = r.user_id AND g.guid = ${guid} AND g.subscription_id <> coalesce(r.merged_into, r.id) AND x.guid = g.guid)`;

/** Each row r, the survivor s that it was merged into, and the guid under which the client has seen it. */
const shownRows = `subscription.subscriptions r
  LEFT JOIN subscription.subscriptions s ON s.user_id = r.user_id AND s.id = r.merged_into
  CROSS JOIN LATERAL (
    SELECT CASE WHEN r.guid_changed > $2 THEN coalesce(
      (SELECT f.guid FROM subscription.former_guids f
       WHERE f.user_id = r.user_id AND f.subscription_id = r.id AND f.replaced > $2 AND NOT ${isAnothers('f.guid')}
       ORDER BY f.replaced LIMIT 1), r.guid) ELSE r.guid END AS guid
  ) seen`;

/**
 * One row for each subscription that changed. "guid" is the guid it had at "since", or its first one without "since"; the
 * first of those that are no other's by now, as what is shown of that one would be undone. A merged subscription shows its
 * survivor, and is left out where that has the same guid, or another one has.
 */
export const list = listing('subscription.list', {
  row: 'r',
  columns: `r.id, seen.guid, coalesce(s.guid, r.guid) AS "newGuid",
    CASE WHEN s.id IS NULL THEN r.guid_changed ELSE greatest(r.merged_at, s.guid_changed) END AS "guidChanged",
    coalesce(s.feed_url, r.feed_url) AS "feedUrl", coalesce(s.is_subscribed, r.is_subscribed) AS "isSubscribed",
    coalesce(s.subscription_changed, r.subscription_changed) AS "subscriptionChanged",
    CASE WHEN s.id IS NULL THEN r.deleted ELSE s.deleted END AS deleted`,
  matching: shownRows,
  where: `(s.id IS NULL OR (seen.guid <> s.guid AND NOT ${isAnothers('seen.guid')}))`,
});

interface ListRow {
  guid: string;
  newGuid: string;
  guidChanged: string | null;
  feedUrl: string;
  isSubscribed: boolean;
  subscriptionChanged: string;
  deleted: string | null;
}

/** One page of what changed (GET /subscriptions). */
export function listChanged(database: Database, request: ListRequest): Promise<ReplyOf<typeof listSubscriptions>> {
  return listPage(database, list, request, (row: ListRow) => ({
    feed_url: row.feedUrl,
    guid: row.guid,
    is_subscribed: row.isSubscribed,
    subscription_changed: row.subscriptionChanged,
    ...(row.newGuid !== row.guid && {
      new_guid: row.newGuid,
      ...(row.guidChanged && { guid_changed: row.guidChanged }),
    }),
    ...(row.deleted && { deleted: row.deleted }),
  }));
}
