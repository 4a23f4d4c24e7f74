import { createHash } from 'node:crypto';
import { urlKey } from '#contracts';
import { type Bound, type Database, statement, type Transaction } from '#database';
import { describeRows, type FeedItem } from './describe.rules.js';
import type { EpisodeRow } from './episode.rules.js';
import { rowColumns, rowTables } from './episode.sql.js';
import type { EpisodeChanges } from './known-episodes.js';
import type { StateRow } from './episode.repository.js';

/** Maximum number of rows that one call describes. */
const maxRows = 1_000;
/** Maximum bytes of the episodes of several feeds that one upload reads. */
const maxBytes = 2 * 1_024 * 1_024;

/**
 * Reads the followed ones of subscriptions $2. `isNew` is true for some seconds after a change:
 * otherwise a title would reveal whether other users of the server follow the feed. $1 user.
 */
const selectFollowed = statement(
  'episode.select_followed',
  `SELECT f.subscription_id AS "subscriptionId", f.feed_url AS "feedUrl",
     f.changed > now() - interval '8 s' AS "isNew"
   FROM subscription.followed_feeds f
   WHERE f.user_id = $1 AND f.subscription_id = ANY ($2::bigint[])`,
);

/** $1 keys of feeds. Reads the episodes of the first ones, within a limit of bytes. */
const selectFeedEpisodes = statement(
  'episode.select_feed_episodes',
  `SELECT encode(r.key, 'hex') AS key, r.episodes FROM (
     SELECT s.n, s.key, k.episodes, sum(octet_length(k.episodes)) OVER (ORDER BY s.n) AS bytes
     FROM unnest($1::bytea[]) WITH ORDINALITY s (key, n)
     JOIN feed.newest_episodes k ON k.url_sha256 = s.key
   ) r WHERE r.bytes <= ${maxBytes} OR r.n = 1`,
);

/** Notes the feeds with URLs $1 for the feed service. */
const insertTouched = statement(
  'episode.insert_touched',
  'INSERT INTO feed.touched (url) SELECT unnest($1::text[])',
);

/** $1 user, $2 feed URL, $3 its lookup key. Reads the newest episodes without a title. */
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

/** Returns the statement for the rows of a feed that have no title. */
export function selectUntitled(
  userId: string,
  feedUrl: string,
): Bound<{ episodes: StateRow[] | null }> {
  return [selectUntitledRows, [userId, feedUrl, Buffer.from(urlKey(feedUrl), 'hex')]];
}

/** Returns the stored episodes of a feed, none for an unknown one. */
export async function episodesOfFeed(database: Database, feedUrl: string): Promise<FeedItem[]> {
  const [known] = await database.read<{ episodes: string }>(selectFeedEpisodes, [[keyOf(feedUrl)]]);
  return known ? (JSON.parse(known.episodes) as FeedItem[]) : [];
}

/**
 * Describes new episodes without a title by the stored feeds of their podcasts, and notes the feeds
 * of the others for the feed service. Without such episodes it does nothing.
 *
 * @param fills false to note only, if the answer with the rows is complete already.
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

/** Returns the described rows by id. */
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
