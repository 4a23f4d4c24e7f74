import type pg from 'pg';
import { urlKey } from '#contracts';

const insert = `
  WITH made AS (
    INSERT INTO subscription.subscriptions (user_id, feed_url, guid, is_subscribed,
      is_subscribed_at, subscription_changed, changed)
    VALUES ($1, coalesce(($5::text[])[1], 'https://podcast.example/feed'), $2, true, $3, $3, $3)
    RETURNING id
  ), reached AS (
    INSERT INTO subscription.feed_urls (user_id, url_sha256, subscription_id)
    SELECT $1, decode(key, 'hex'), id FROM made, unnest($6::text[]) key
  ), named AS (
    INSERT INTO subscription.guids (user_id, guid, subscription_id, attached)
    SELECT $1, guid, id, $3 FROM made, unnest($4::uuid[]) guid
  ), counted AS (
    INSERT INTO subscription.totals AS t (user_id, live, guids)
    VALUES ($1, 1, cardinality($4::uuid[]))
    ON CONFLICT (user_id) DO UPDATE SET live = t.live + 1, guids = t.guids + excluded.guids
  )
  SELECT id::int FROM made`;

/**
 * Inserts a live subscription directly. @returns its row id.
 *
 * @param guids its guids, the current one first.
 * @param feedUrls its URLs, the current one first; by default it has no row in `feed_urls`.
 */
export async function storeSubscription(
  owner: pg.Client,
  userId: string,
  guids: readonly [current: string, ...former: string[]],
  stamp: Date | 'epoch',
  feedUrls?: readonly [current: string, ...former: string[]],
): Promise<number> {
  const { rows } = await owner.query<{ id: number }>(insert, [
    userId,
    guids[0],
    stamp,
    guids,
    feedUrls ?? null,
    feedUrls?.map(urlKey) ?? null,
  ]);
  return (rows[0] as { id: number }).id;
}
