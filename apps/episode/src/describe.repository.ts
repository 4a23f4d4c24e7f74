import { createHash } from 'node:crypto';
import { urlKey } from '#contracts';
import { type Bound, type Database, statement, type Transaction } from '#database';
import { describeRows, type FeedItem } from './describe.rules.js';
import type { EpisodeRow } from './episode.rules.js';
import { rowColumns, rowTables } from './episode.sql.js';
import type { EpisodeChanges } from './episode.set.js';
import type { StateRow } from './episode.repository.js';

/** Maximum number of episodes without a title that one message reads. */
const maxRows = 1_000;
/** Maximum bytes of feed episodes that one upload reads, unless the first feed alone has more. */
const maxBytes = 2 * 1_024 * 1_024;

/**
 * Reads the feed URLs of the subscriptions $2 of user $1, without unsubscribed ones. `isNew` is
 * true during the first 8 s after a change of the subscription. No title is filled in during these
 * seconds, because an immediate title would reveal that another user follows the feed.
 */
const selectFollowed = statement(
  'episode.select_followed',
  `SELECT f.subscription_id AS "subscriptionId", f.feed_url AS "feedUrl",
     f.changed > now() - interval '8 s' AS "isNew"
   FROM subscription.followed_feeds f
   WHERE f.user_id = $1 AND f.subscription_id = ANY ($2::bigint[])`,
);

/**
 * Reads the stored episodes of feeds in the order of their keys $1, up to {@link maxBytes}. The
 * first feed has no limit.
 */
const selectFeedEpisodes = statement(
  'episode.select_feed_episodes',
  `SELECT encode(r.key, 'hex') AS key, r.episodes FROM (
     SELECT s.n, s.key, k.episodes, sum(octet_length(k.episodes)) OVER (ORDER BY s.n) AS bytes
     FROM unnest($1::bytea[]) WITH ORDINALITY s (key, n)
     JOIN feed.newest_episodes k ON k.url_sha256 = s.key
   ) r WHERE r.bytes <= ${maxBytes} OR r.n = 1`,
);

/** Reports to the feed service the URLs $1 of feeds that have new episodes without a title. */
const insertTouched = statement(
  'episode.insert_touched',
  'INSERT INTO feed.touched (url) SELECT unnest($1::text[])',
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

/** Returns the key of a feed: the SHA-256 of its exact URL. */
const keyOf = (feedUrl: string) => createHash('sha256').update(feedUrl).digest();

/** Returns the statement that reads a user's episodes of a feed that have no title. */
export function selectUntitled(
  userId: string,
  feedUrl: string,
): Bound<{ episodes: StateRow[] | null }> {
  return [selectUntitledRows, [userId, feedUrl, Buffer.from(urlKey(feedUrl), 'hex')]];
}

/** Returns the stored episodes of a feed; none if the server has not fetched the feed. */
export async function episodesOfFeed(database: Database, feedUrl: string): Promise<FeedItem[]> {
  const [known] = await database.read<{ episodes: string }>(selectFeedEpisodes, [[keyOf(feedUrl)]]);
  return known ? (JSON.parse(known.episodes) as FeedItem[]) : [];
}

/**
 * Fills in the metadata of new episodes without a title from the stored feeds of their podcasts.
 * Reports the feeds of episodes that remain without a title to the feed service.
 *
 * @param fills false only reports feeds and fills in nothing.
 */
export async function describeNew(
  transaction: Transaction,
  userId: string,
  changes: EpisodeChanges,
  fills = true,
): Promise<void> {
  const untitled = changes.rows.filter(({ id, title }) => changes.inserted.has(id) && title === '');
  if (untitled.length === 0) return;
  const ids = [...new Set(untitled.map(({ subscriptionId }) => subscriptionId))];
  type Followed = { subscriptionId: number; feedUrl: string; isNew: boolean };
  const feeds = await transaction.query<Followed>(selectFollowed, [userId, ids]);
  const readable = fills ? feeds.filter(({ isNew }) => !isNew) : [];
  const described = await describedBy(transaction, readable, untitled);
  changes.rows = changes.rows.map((row) => described.get(row.id) ?? row);
  const left = new Set(
    untitled.flatMap(({ id, subscriptionId }) => (described.has(id) ? [] : subscriptionId)),
  );
  const urls = feeds.flatMap(({ subscriptionId, feedUrl }) =>
    left.has(subscriptionId) ? feedUrl : [],
  );
  if (urls.length > 0) transaction.sendWithCommit(insertTouched, [urls]);
}

/** Returns the rows with filled-in metadata, by row id. */
async function describedBy(
  transaction: Transaction,
  feeds: readonly { subscriptionId: number; feedUrl: string }[],
  rows: readonly EpisodeRow[],
): Promise<Map<number, EpisodeRow>> {
  const byKey = new Map(feeds.map((feed) => [keyOf(feed.feedUrl).toString('hex'), feed]));
  if (byKey.size === 0) return new Map();
  const keys = [...byKey.keys()].map((key) => Buffer.from(key, 'hex'));
  type Known = { key: string; episodes: string };
  const found = await transaction.query<Known>(selectFeedEpisodes, [keys]);
  return new Map(
    found
      .flatMap(({ key, episodes }) =>
        describeRows(
          rows.filter(({ subscriptionId }) => subscriptionId === byKey.get(key)?.subscriptionId),
          JSON.parse(episodes) as FeedItem[],
        ),
      )
      .map((row) => [row.id, row]),
  );
}
