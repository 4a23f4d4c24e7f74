import { clockOfUser, type Database, statement } from '#database';
import { seenNow } from './schedule/result.rules.js';
import type { FeedStatus } from './schedule/schedule.rules.js';

/** Days after which a feed that no follower reads is not fetched any more, and removed. */
const keptDays = 14;
/** Seconds of a lease: a fetch takes 45 at most, and its row is written within 10. */
const leaseSeconds = 90;
/** Days for which a pushed feed is kept, and not fetched. */
const pushedDays = 30;
/** Seconds that `since` overlaps: more than a statement takes from its start to its commit. */
const overlapSeconds = 10;
/** Maximum bytes of the episodes of several feeds in one answer. */
const mostEpisodeBytes = 2 * 1_024 * 1_024;
/** Seconds after a change of a subscription during which its feed is shown as pending. */
const hiddenSeconds = 8;

/** A row of {@link FeedRepository.followed}. */
export interface Followed {
  readonly id: number;
  readonly guid: string;
  readonly feedUrl: string;
  /** True if the subscription changed in the last seconds. */
  readonly isNew: boolean;
  /** True if the subscription changed after `since`. */
  readonly isChanged: boolean | null;
}

/** The facts of a user's rows. */
interface Reading {
  readonly refused: number | null;
  readonly syncTimestamp: string;
}

/** The stored content of a feed. */
export interface StoredFeed {
  readonly key: Buffer;
  readonly status: FeedStatus;
  readonly title: string | null;
  readonly author: string | null;
  readonly description: string | null;
  readonly link: string | null;
  readonly language: string | null;
  readonly imageUrl: string | null;
  readonly latestPublishDate: string | null;
  readonly changed: string;
}

/** A leased lane with its next feed, or without one. */
export interface Claim {
  readonly lane: string;
  /** Names the lease: a result without it is not stored. */
  readonly lease: string;
  readonly blocks: number;
  readonly feed: ClaimedFeed | null;
}

/** A feed to fetch, with what its last fetches found. Times are milliseconds since 1970. */
export interface ClaimedFeed {
  /** In hex. */
  readonly key: string;
  readonly url: string;
  readonly status: FeedStatus;
  readonly etag: string | null;
  readonly lastModified: string | null;
  /** In hex. */
  readonly contentSha256: string | null;
  readonly latest: number | null;
  readonly gapSeconds: number | null;
  readonly isComplete: boolean;
  readonly failures: number;
  readonly gones: number;
  readonly failingSince: number | null;
}

/** The result of a fetch. Times are milliseconds since 1970. */
export interface Result {
  readonly nextAt: number;
  readonly etag: string | null;
  readonly lastModified: string | null;
  /** In hex. */
  readonly contentSha256: string | null;
  readonly gapSeconds: number | null;
  readonly isComplete: boolean;
  readonly failures: number;
  readonly gones: number;
  readonly failingSince: number | null;
  readonly fault: string | null;
  readonly status: FeedStatus;
  /** Milliseconds until the next request of the lane. */
  readonly laneBusyMs: number;
  readonly laneBlocks: number;
  /** Absent if the content is unchanged. */
  readonly content?: Content;
}

/** The content of a document, by column. */
export interface Content {
  readonly title: string | null;
  readonly author: string | null;
  readonly description: string | null;
  readonly link: string | null;
  readonly language: string | null;
  readonly image_url: string | null;
  readonly declared_guid: string | null;
  readonly latest_publish_date: string | null;
  /** A JSON array. */
  readonly episodes: string;
}

/** $1 user, $2 last row of the previous page, $3 maximum number of rows, $4 since. */
const followed = statement(
  'feed.followed',
  `SELECT c.refused, f.subscription_id AS id, f.guid, f.feed_url AS "feedUrl",
     f.changed > now() - interval '${hiddenSeconds} s' AS "isNew",
     f.changed > $4::timestamptz AS "isChanged",
     (now() - interval '${overlapSeconds} s')::timestamptz(3) AS "syncTimestamp"
   FROM ${clockOfUser} c LEFT JOIN LATERAL (
     SELECT * FROM subscription.followed_feeds v WHERE v.user_id = $1 AND v.subscription_id > $2
     ORDER BY v.subscription_id LIMIT $3
   ) f ON true ORDER BY f.subscription_id`,
);

/** $1 user, $2 guids, current or former ones. */
const followedByGuid = statement(
  'feed.followed_by_guid',
  `SELECT c.refused, f.subscription_id AS id, f.guid, f.feed_url AS "feedUrl",
     f.changed > now() - interval '${hiddenSeconds} s' AS "isNew"
   FROM ${clockOfUser} c LEFT JOIN (
     subscription.named_subscriptions n
     JOIN subscription.followed_feeds f
       ON f.user_id = n.user_id AND f.subscription_id = n.subscription_id
   ) ON n.user_id = $1 AND n.guid = ANY ($2::uuid[])`,
);

/**
 * $1 keys, $2 URLs, $3 lanes. Reads feeds, inserts the missing ones, and notes once a day that they
 * are wanted. New feeds are due before all others of their lane. Locks are taken in the order of
 * keys and lanes, or not waited for.
 */
const want = statement(
  'feed.want',
  `WITH sent AS (
     SELECT DISTINCT * FROM unnest($1::bytea[], $2::text[], $3::text[]) s (key, url, lane)
   ), noted AS (
     UPDATE feed.feeds f SET wanted = now() WHERE f.url_sha256 IN (
       SELECT o.url_sha256 FROM feed.feeds o
       WHERE o.url_sha256 = ANY ($1) AND o.wanted < now() - interval '1 day'
       FOR NO KEY UPDATE SKIP LOCKED
     ) RETURNING f.url_sha256
   ), made AS (
     INSERT INTO feed.feeds (url_sha256, url, wanted)
     SELECT s.key, s.url, now() FROM sent s
     WHERE NOT EXISTS (SELECT FROM feed.feeds f WHERE f.url_sha256 = s.key)
     ORDER BY s.key ON CONFLICT DO NOTHING RETURNING url_sha256
   ), scheduled AS (
     INSERT INTO feed.fetches (url_sha256, lane, next_at)
     SELECT s.key, s.lane, 'epoch' FROM made m JOIN sent s ON s.key = m.url_sha256
   ), due AS (
     INSERT INTO feed.lanes AS l (lane, next_at)
     SELECT DISTINCT s.lane, now() FROM sent s
     WHERE s.key IN (SELECT m.url_sha256 FROM made m UNION ALL SELECT n.url_sha256 FROM noted n)
     ORDER BY 1
     ON CONFLICT (lane) DO UPDATE SET next_at = least(l.next_at, excluded.next_at)
   )
   SELECT f.url_sha256 AS key, f.status, f.title, f.author, f.description, f.link, f.language,
     f.image_url AS "imageUrl", f.latest_publish_date AS "latestPublishDate", f.changed
   FROM feed.feeds f WHERE f.url_sha256 = ANY ($1)`,
);

/** $1 key. */
const episodes = statement(
  'feed.episodes',
  'SELECT f.episodes FROM feed.feeds f WHERE f.url_sha256 = $1',
);

/** $1 keys, in order. Reads the episodes of the first feeds, within a limit of bytes. */
const episodesOfAll = statement(
  'feed.episodes_of_all',
  `SELECT r.key, r.episodes FROM (
     SELECT s.n, s.key, f.episodes, sum(octet_length(f.episodes)) OVER (ORDER BY s.n) AS bytes
     FROM unnest($1::bytea[]) WITH ORDINALITY s (key, n) JOIN feed.feeds f ON f.url_sha256 = s.key
   ) r WHERE r.bytes <= ${mostEpisodeBytes} OR r.n = 1 ORDER BY r.n`,
);

/**
 * SQL of episodes as JSON in which the time of the statement replaces {@link seenNow}. A text within
 * JSON cannot contain this: its quotation marks are escaped.
 */
const dated = (episodes: string) => `replace(${episodes}, '"seen":"${seenNow}"',
       '"seen":"' || to_char(
         now()::timestamptz(3) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'
       ) || '"')`;

/**
 * $1 pushed feeds as JSON. Stores their content, which no fetch replaces for some days. Locks as
 * `save`, and in the order of keys.
 */
const push = statement(
  'feed.push',
  `WITH sent AS MATERIALIZED (
     SELECT decode(s.key, 'hex') AS url_sha256, s.* FROM jsonb_to_recordset($1::jsonb) s (
       key text, title text, author text, description text, link text, language text,
       image_url text, declared_guid uuid, latest_publish_date timestamptz, episodes text
     )
   ), locked AS MATERIALIZED (
     SELECT t.url_sha256 FROM feed.fetches t WHERE t.url_sha256 IN (SELECT s.url_sha256 FROM sent s)
     ORDER BY t.url_sha256 FOR NO KEY UPDATE
   ), postponed AS (
     UPDATE feed.fetches t SET pushed_until = u.time, next_at = u.time, etag = NULL,
       last_modified = NULL, content_sha256 = NULL, failures = 0, gones = 0, failing_since = NULL,
       fault = NULL
     FROM locked l, (SELECT now() + interval '${pushedDays} days' AS time) u
     WHERE t.url_sha256 = l.url_sha256 RETURNING t.url_sha256
   )
   UPDATE feed.feeds f SET status = 'ok', title = s.title, author = s.author,
     description = s.description, link = s.link, language = s.language, image_url = s.image_url,
     declared_guid = s.declared_guid, latest_publish_date = s.latest_publish_date,
     episodes = ${dated('s.episodes')}, changed = now(),
     wanted = greatest(f.wanted, now() + interval '${pushedDays - keptDays} days')
   FROM sent s JOIN postponed p ON p.url_sha256 = s.url_sha256 WHERE f.url_sha256 = s.url_sha256`,
);

/** $1 keys. Makes feeds due that were not fetched for 15 minutes. Locks lanes first, as `save`. */
const refresh = statement(
  'feed.refresh',
  `WITH old AS (
     SELECT f.url_sha256, f.lane FROM feed.fetches f
     WHERE f.url_sha256 = ANY ($1) AND f.next_at > now() AND f.pushed_until < now()
       AND f.fetched_at < now() - interval '15 min'
   ), due AS (
     INSERT INTO feed.lanes AS l (lane, next_at)
     SELECT DISTINCT o.lane, now() FROM old o ORDER BY o.lane
     ON CONFLICT (lane) DO UPDATE SET next_at = least(l.next_at, excluded.next_at)
     RETURNING lane
   )
   UPDATE feed.fetches f SET next_at = now() FROM old o JOIN due d ON d.lane = o.lane
   WHERE f.url_sha256 = o.url_sha256`,
);

/** SQL of a time as milliseconds since 1970. */
const milliseconds = (time: string) => `(extract(epoch FROM ${time}) * 1000)::double precision`;

/**
 * $1 maximum number of lanes. Leases lanes that are due. Until the lane is saved, its `next_at` is
 * the end of the lease, and an earlier one means that another feed became due.
 */
const claim = statement(
  'feed.claim',
  `WITH due AS (
     SELECT l.lane FROM feed.lanes l WHERE l.next_at <= now() AND l.busy_until <= now()
     ORDER BY l.next_at LIMIT $1 FOR NO KEY UPDATE SKIP LOCKED
   ), leased AS (
     UPDATE feed.lanes l SET busy_until = e.time, next_at = e.time
     FROM due d, (SELECT now() + interval '${leaseSeconds} s' AS time) e WHERE l.lane = d.lane
     RETURNING l.lane, l.busy_until::text AS lease, l.blocks
   )
   SELECT l.lane, l.lease, l.blocks, to_jsonb(n) AS feed
   FROM leased l LEFT JOIN LATERAL (
     SELECT encode(t.url_sha256, 'hex') AS key, f.url, f.status, t.etag,
       t.last_modified AS "lastModified", encode(t.content_sha256, 'hex') AS "contentSha256",
       ${milliseconds('f.latest_publish_date')} AS latest, t.gap_seconds AS "gapSeconds",
       t.is_complete AS "isComplete", t.failures, t.gones,
       ${milliseconds('t.failing_since')} AS "failingSince"
     FROM feed.fetches t JOIN feed.feeds f ON f.url_sha256 = t.url_sha256
     WHERE t.lane = l.lane AND t.next_at <= now() AND f.wanted > now() - interval '${keptDays} days'
     ORDER BY t.next_at LIMIT 1
   ) n ON true`,
);

/** SQL that ends a lease. $1 lane, $2 lease, $3 milliseconds until its next request, $4 blocks. */
const endLease = (soonest: string) => `
  UPDATE feed.lanes l SET
    busy_until = now() + $3::double precision * interval '1 ms',
    blocks = $4,
    next_at = CASE WHEN l.next_at < l.busy_until THEN l.next_at
      ELSE coalesce(${soonest}, 'infinity') END
  WHERE l.lane = $1 AND l.busy_until = $2::timestamptz`;

/** SQL of the time of the next feed of lane $1. It reads the first rows of an index. */
const nextOf = (condition: string) => `(
  SELECT t.next_at FROM feed.fetches t JOIN feed.feeds f ON f.url_sha256 = t.url_sha256
  WHERE t.lane = $1 AND f.wanted > now() - interval '${keptDays} days' AND ${condition}
  ORDER BY t.next_at LIMIT 1
)`;

/** Ends the lease of a lane without a due feed; see {@link endLease}. */
const release = statement('feed.release', endLease(nextOf('true')));

/**
 * Stores a result and ends the lease. It keeps the content of a feed that was pushed meanwhile. Or does nothing if the lease is lost. $5 key in hex, $6 the
 * result as JSON, $7 the content as JSON or null.
 */
const save = statement(
  'feed.save',
  `WITH result AS (
     SELECT to_timestamp(("nextAt") / 1000) AS next_at, r.*
     FROM jsonb_to_record($6::jsonb) r (
       "nextAt" double precision, etag text, "lastModified" text, "contentSha256" text,
       "gapSeconds" integer, "isComplete" boolean, failures integer, gones integer,
       "failingSince" double precision, fault text, status text
     )
   ), lane AS (
     ${endLease(`least(
       (SELECT r.next_at FROM result r), ${nextOf(`t.url_sha256 <> decode($5, 'hex')`)}
     )`)}
     RETURNING l.lane
   ), fetched AS (
     UPDATE feed.fetches t SET next_at = greatest(r.next_at, t.pushed_until), fetched_at = now(), etag = r.etag,
       last_modified = r."lastModified", content_sha256 = decode(r."contentSha256", 'hex'),
       gap_seconds = r."gapSeconds", is_complete = r."isComplete", failures = r.failures,
       gones = r.gones, failing_since = to_timestamp(r."failingSince" / 1000), fault = r.fault
     FROM result r, lane WHERE t.url_sha256 = decode($5, 'hex')
     RETURNING t.pushed_until < now() AS is_owned
   ), stated AS (
     UPDATE feed.feeds f SET status = r.status, changed = now()
     FROM result r, fetched t WHERE t.is_owned
       AND f.url_sha256 = decode($5, 'hex') AND f.status <> r.status AND $7::jsonb IS NULL
   ), stored AS (
     UPDATE feed.feeds f SET status = r.status, title = c.title, author = c.author,
       description = c.description, link = c.link, language = c.language, image_url = c.image_url,
       declared_guid = c.declared_guid, latest_publish_date = c.latest_publish_date,
       episodes = ${dated('c.episodes')}, changed = now()
     FROM result r, fetched t, jsonb_to_record($7::jsonb) c (
       title text, author text, description text, link text, language text, image_url text,
       declared_guid uuid, latest_publish_date timestamptz, episodes text
     ) WHERE t.is_owned AND f.url_sha256 = decode($5, 'hex') AND $7::jsonb IS NOT NULL
   )
   SELECT count(*)::integer AS saved FROM lane`,
);

/** $1 maximum number of rows. Removes feeds that nobody reads. */
const sweep = statement(
  'feed.sweep',
  `WITH old AS (
     DELETE FROM feed.feeds f WHERE f.url_sha256 IN (
       SELECT o.url_sha256 FROM feed.feeds o WHERE o.wanted < now() - interval '${keptDays} days'
       LIMIT $1 FOR UPDATE SKIP LOCKED
     ) RETURNING 1
   ), lanes AS (
     DELETE FROM feed.lanes l WHERE l.next_at = 'infinity' AND l.busy_until < now()
   )
   SELECT count(*)::integer AS removed FROM old`,
);

/** The SQL of feeds and their schedule. */
export class FeedRepository {
  constructor(private readonly database: Database) {}

  /** Returns rows with `refused`, and with a null id if there is none. */
  followed(userId: string, after: number, limit: number, since?: string) {
    return this.database.read<Followed & Reading>(followed, [userId, after, limit, since ?? null]);
  }

  /** Returns rows as {@link followed}. */
  followedByGuid(userId: string, guids: readonly string[]) {
    return this.database.read<Followed & { refused: number | null }>(followedByGuid, [
      userId,
      guids,
    ]);
  }

  /** Returns the stored feeds, without those that it inserts. */
  want(keys: readonly Buffer[], urls: readonly string[], lanes: readonly string[]) {
    return this.database.change<StoredFeed>(want, [keys, urls, lanes]);
  }

  /** Returns the episodes of a feed as JSON. */
  async episodes(key: Buffer): Promise<string> {
    const [row] = await this.database.read<{ episodes: string }>(episodes, [key]);
    return row?.episodes ?? '[]';
  }

  /** Returns the episodes of the first feeds as JSON, in the order of the keys. */
  episodesOfAll(keys: readonly Buffer[]) {
    return this.database.read<{ key: Buffer; episodes: string }>(episodesOfAll, [keys]);
  }

  /** Stores the content of feeds that {@link want} returned or inserted. */
  async push(feeds: readonly { readonly key: string; readonly content: Content }[]): Promise<void> {
    const rows = feeds.map(({ key, content }) => ({ key, ...content }));
    await this.database.change(push, [JSON.stringify(rows)]);
  }

  async refresh(keys: readonly Buffer[]): Promise<void> {
    await this.database.change(refresh, [keys]);
  }

  claim(limit: number): Promise<Claim[]> {
    return this.database.change<Claim>(claim, [limit]);
  }

  async release({ lane, lease, blocks }: Claim): Promise<void> {
    await this.database.change(release, [lane, lease, 0, blocks]);
  }

  /** Returns false if the lease is lost: another replica fetches the feed. */
  async save({ lane, lease }: Claim, key: string, result: Result): Promise<boolean> {
    const { laneBusyMs, laneBlocks, content, ...rest } = result;
    const [row] = await this.database.change<{ saved: number }>(save, [
      lane,
      lease,
      laneBusyMs,
      laneBlocks,
      key,
      JSON.stringify(rest),
      content ? JSON.stringify(content) : null,
    ]);
    return row?.saved === 1;
  }

  /** Removes feeds that nobody reads. Returns their number. */
  async sweep(limit: number): Promise<number> {
    const [row] = await this.database.change<{ removed: number }>(sweep, [limit]);
    return row?.removed ?? 0;
  }
}
