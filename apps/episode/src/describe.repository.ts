import { hash } from 'node:crypto';
import { urlKey } from '#contracts';
import { type Bound, type Database, statement, type Transaction } from '#database';
import { describeRows, type FeedItem } from './describe.rules.js';
import type { EpisodeRow } from './episode.rules.js';
import { rowColumns, rowTables } from './episode.sql.js';
import type { EpisodeChanges } from './episode-set.js';
import type { StateRow } from './episode.repository.js';

/** Maximum number of episodes without a title that one message reads, the newest first. */
const maxRows = 1_000;
/**
 * Maximum bytes of feed episodes that one upload reads. The first feed is always read; further
 * feeds are omitted if they exceed the limit.
 */
const maxBytes = 2 * 1_024 * 1_024;

/** Reads the stored episodes of the feed with key $1. */
const selectFeedEpisodes = statement(
  'episode.select_feed_episodes',
  'SELECT k.episodes FROM feed.newest_episodes k WHERE k.url_sha256 = $1',
);

/**
 * Reads the stored episodes of the feeds of the subscriptions $2 of user $1, up to
 * {@link maxBytes}; the first feed has no limit. Unsubscribed podcasts are omitted. Subscriptions
 * that changed in the last 8 s are omitted, too, because an immediate title would reveal that
 * another user follows the feed.
 */
const selectFollowedEpisodes = statement(
  'episode.select_followed_episodes',
  `WITH followed AS MATERIALIZED (
     SELECT f.subscription_id, f.feed_url FROM subscription.followed_feeds f
     WHERE f.user_id = $1 AND f.subscription_id = ANY ($2::bigint[])
       AND f.changed <= now() - interval '8 s'
   )
   SELECT r.subscription_id AS "subscriptionId", r.episodes FROM (
     SELECT w.subscription_id, k.episodes, row_number() OVER by_id AS n,
       sum(octet_length(k.episodes)) OVER by_id AS bytes
     FROM followed w CROSS JOIN LATERAL (
       SELECT s.episodes FROM feed.newest_episodes s
       WHERE s.url_sha256 = sha256(convert_to(w.feed_url, 'UTF8')) OFFSET 0
     ) k WINDOW by_id AS (ORDER BY w.subscription_id)
   ) r WHERE r.bytes <= ${maxBytes} OR r.n = 1`,
);

/**
 * Adds the feeds of the subscriptions $2 of user $1 to the outbox feed.touched, so that the feed
 * service looks for titles. The caller passes subscriptions with new untitled episodes. Omits
 * unsubscribed podcasts.
 */
const insertTouchedFeeds = statement(
  'episode.insert_touched',
  `INSERT INTO feed.touched (url)
   SELECT f.feed_url FROM subscription.followed_feeds f
   WHERE f.user_id = $1 AND f.subscription_id = ANY ($2::bigint[])`,
);

/**
 * Reads the newest episodes without a title of one feed, up to {@link maxRows}. $1 user, $2 feed
 * URL, $3 its lookup key.
 */
const selectUntitledRows = statement(
  'episode.select_untitled_rows',
  `WITH untitled AS MATERIALIZED (
     SELECT e.id FROM subscription.subscriptions_by_url n
     JOIN episode.episodes e
       ON e.user_id = $1 AND e.subscription_id = n.subscription_id AND e.title = ''
     WHERE n.user_id = $1 AND n.url_sha256 = $3 AND n.is_live AND n.feed_url = $2
     ORDER BY e.id DESC LIMIT ${maxRows}
   ), rows AS MATERIALIZED (
     SELECT e.* FROM untitled CROSS JOIN LATERAL (
       SELECT ${rowColumns} FROM ${rowTables} WHERE s.user_id = $1 AND s.id = untitled.id OFFSET 0
     ) e
   )
   SELECT json_agg(row_to_json(r)) AS episodes FROM rows r`,
);

/** Returns the statement that reads a user's episodes of a feed that have no title. */
export function selectUntitled(
  userId: string,
  feedUrl: string,
): Bound<{ episodes: StateRow[] | null }> {
  return [selectUntitledRows, [userId, feedUrl, Buffer.from(urlKey(feedUrl), 'hex')]];
}

/** Returns the stored episodes of a feed; none if the server has not fetched the feed. */
export async function episodesOfFeed(database: Database, feedUrl: string): Promise<FeedItem[]> {
  // The key of a feed is the SHA-256 of its exact URL.
  const feedKey = hash('sha256', feedUrl, 'buffer');
  const [feedRow] = await database.read<{ episodes: string }>(selectFeedEpisodes, [feedKey]);
  return feedRow ? (JSON.parse(feedRow.episodes) as FeedItem[]) : [];
}

/**
 * Fills in the metadata of new episodes without a title in `changes.rows`, from the stored feeds of
 * their podcasts. Reports the feeds of episodes that remain without a title to the feed service,
 * together with the commit.
 *
 * @param fills false fills in nothing and only reports feeds, without a round trip.
 */
export async function describeNew(
  transaction: Transaction,
  userId: string,
  changes: EpisodeChanges,
  fills = true,
): Promise<void> {
  const untitled = changes.rows.filter(({ id, title }) => changes.inserted.has(id) && title === '');
  if (untitled.length === 0) return;
  const describedRows: ReadonlyMap<number, EpisodeRow> = fills
    ? await describeFromFeeds(transaction, userId, untitled)
    : new Map();
  changes.rows = changes.rows.map((row) => describedRows.get(row.id) ?? row);
  const subscriptionIds = listSubscriptionIds(untitled.filter(({ id }) => !describedRows.has(id)));
  if (subscriptionIds.length > 0)
    transaction.sendWithCommit(insertTouchedFeeds, [userId, subscriptionIds]);
}

/** Returns the rows that are in their stored feed, with filled-in metadata, by row id. */
async function describeFromFeeds(
  transaction: Transaction,
  userId: string,
  rows: readonly EpisodeRow[],
): Promise<ReadonlyMap<number, EpisodeRow>> {
  const feeds = await transaction.query<{ subscriptionId: number; episodes: string }>(
    selectFollowedEpisodes,
    [userId, listSubscriptionIds(rows)],
  );
  return new Map(
    feeds
      .flatMap((feed) =>
        describeRows(
          rows.filter(({ subscriptionId }) => subscriptionId === feed.subscriptionId),
          JSON.parse(feed.episodes) as FeedItem[],
        ),
      )
      .map((row) => [row.id, row]),
  );
}

/** Returns the ids of the subscriptions of episodes, each once. */
function listSubscriptionIds(rows: readonly EpisodeRow[]): number[] {
  return [...new Set(rows.map(({ subscriptionId }) => subscriptionId))];
}
