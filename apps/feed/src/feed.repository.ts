import { type Database, unlessRefused } from '#database';
import { oneCounter } from '#runtime';
import { feedKey, laneOf } from './feed-address.js';
import * as followedSql from './followed.sql.js';
import * as sql from './feed.sql.js';
import * as laneSql from './schedule/lane.sql.js';
import type { ComparableFeed, Move } from './schedule/move.rules.js';
import type { FeedStatus } from './schedule/schedule.rules.js';

/** A change of a feed that is not applied to its followers' subscriptions. */
export interface HeldChange {
  /** The URL of the feed. */
  readonly url: string;
  /**
   * Why the change is held. `move`: many feeds of the lane move to the same new URL. `guid`:
   * another feed declares the same guid.
   */
  readonly kind: 'move' | 'guid';
}

/** A subscription of a user, without the data of its feed. */
export interface FollowedSubscription {
  readonly guid: string;
  readonly feedUrl: string;
  /** True if the subscription changed in the last 8 seconds. */
  readonly isNew: boolean;
}

/** Columns of `feed.feeds` that answers contain under the same names. */
export const shownColumns = [
  'title',
  'author',
  'description',
  'link',
  'language',
  'image_url',
  'latest_publish_date',
] as const;
type ShownContent = Readonly<Record<(typeof shownColumns)[number], string | null>>;

/**
 * A subscription of a user with its feed. The title is the one that the user chose, else that of
 * the publisher.
 * All columns of the feed are null if no feed is stored, or if the subscription changed in the last
 * 8 seconds.
 */
export interface FollowedFeed extends ShownContent {
  /** The id of the subscription. */
  readonly id: number;
  readonly guid: string;
  readonly feedUrl: string;
  readonly status: FeedStatus | null;
  /** URL of a picture on the platform that pushed the feed; null without one. */
  readonly artworkUrl: string | null;
  /** The id of the thumbnail; null without a stored thumbnail. */
  readonly artworkId: string | null;
  /** The time of the last change of status or content. */
  readonly feedChanged: string | null;
}

/** A query of {@link FeedRepository.readPage}. */
export interface PageQuery {
  readonly userId: string;
  /** The id of the previous page's last subscription; 0 for the first page. */
  readonly after: number;
  /** Maximum number of subscriptions that the page covers. */
  readonly limit: number;
  /** Only rows whose feed or subscription changed after this time are read; absent: all rows. */
  readonly since?: string | undefined;
  /** Versions that the client has cached. A page with one of them is returned without rows. */
  readonly versions?: readonly string[] | undefined;
}

/** A page of a user's subscriptions with their feeds. */
export interface FollowedPage {
  readonly rows: readonly FollowedFeed[];
  /** Two pages of the same query have equal rows if their versions are equal. */
  readonly version: string;
  /** The id of the page's last subscription if more subscriptions follow, else null. */
  readonly next: number | null;
  /** The next `since` with which a client misses no change. */
  readonly syncTimestamp: string;
  /** URLs for {@link FeedRepository.ensureFeeds}: of feeds not stored, or not read for a day. */
  readonly unread: readonly string[] | null;
}

/** A leased lane. */
export interface Claim {
  readonly lane: string;
  /** Identifies the lease. A result is discarded if the lane has another lease by then. */
  readonly lease: string;
  /** Number of consecutive 429 responses in this lane. */
  readonly blocks: number;
  /** The next due feed of the lane; null without one. */
  readonly feed: ClaimedFeed | null;
}

/** The state that a fetch stores for the next fetch of the feed. */
interface FetchState {
  readonly status: FeedStatus;
  readonly etag: string | null;
  readonly lastModified: string | null;
  /** The hash of the stored content in hexadecimal; null without content. */
  readonly contentSha256: string | null;
  /** The median pause between episodes; null if unknown. */
  readonly gapSeconds: number | null;
  /** True if the feed declares that no episodes will follow (`itunes:complete`). */
  readonly isComplete: boolean;
  /** Number of consecutive failed fetches. */
  readonly failures: number;
  /** Number of consecutive 410 responses. */
  readonly goneCount: number;
  /** Time of the first consecutive failure in ms since 1970; null after a success. */
  readonly failingSince: number | null;
}

/** A feed to fetch, with results of its last fetches. */
export interface ClaimedFeed extends FetchState {
  /** SHA-256 of the URL in hexadecimal. */
  readonly key: string;
  readonly url: string;
  /** The date of the newest episode in ms since 1970; null if unknown. */
  readonly latest: number | null;
  readonly declaredGuid: string | null;
  readonly move: Move | null;
  /** True if `startVisits` last selected the feed more than a day ago. */
  readonly isVisitDue: boolean;
}

/** The result of a fetch. */
export interface FetchResult extends FetchState {
  /** Time of the next fetch in ms since 1970. */
  readonly nextAt: number;
  /** Cause of a failure; null after a success. */
  readonly fault: string | null;
  readonly move?: Move | null;
  /** Milliseconds until the next request of the lane. */
  readonly lanePauseMs: number;
  /** Number of consecutive 429 responses in the lane; 0 after another result. */
  readonly laneBlocks: number;
  /** Absent if the fetch failed or the content is unchanged. */
  readonly content?: Content;
}

/** The content of a document, by column. */
export interface Content extends ShownContent {
  readonly declared_guid: string | null;
  /** A JSON array. */
  readonly episodes: string;
  /** False if only a part of the document was read. Null then means unknown. */
  readonly is_whole: boolean;
}

/** The SQL of feeds and their schedule. */
export class FeedRepository {
  private readonly heldChanges = oneCounter(
    'podcast_sync_feed_changes_held_total',
    'Changes of feeds that are not applied to subscriptions, by kind.',
    ['kind'],
  );

  constructor(private readonly database: Database) {
    // Prometheus sees no increase of a counter that it first reads as 1. So both start with 0.
    for (const kind of ['move', 'guid']) this.heldChanges.inc({ kind }, 0);
  }

  /**
   * Reads a page of the feeds that a user follows. The page has no rows if its version is one of
   * `versions`.
   *
   * @throws Failure `unauthorized` for a refused user.
   */
  async readPage({ userId, after, limit, since, versions }: PageQuery): Promise<FollowedPage> {
    const rows = await this.database.read<
      FollowedPage & { id: number | null; refused: number | null }
    >(followedSql.selectFollowedPage, [userId, after, limit, since ?? null, versions ?? []]);
    const firstRow = unlessRefused(rows[0]);
    return { ...firstRow, rows: firstRow.id === null ? [] : (rows as unknown as FollowedFeed[]) };
  }

  /**
   * Reads the user's followed feeds that have or had the guids.
   *
   * @throws Failure `unauthorized` for a refused user.
   */
  async readFollowedByGuid(
    userId: string,
    guids: readonly string[],
  ): Promise<FollowedSubscription[]> {
    const rows = await this.database.read<
      FollowedSubscription & { id: number | null; refused: number | null }
    >(followedSql.selectFollowedByGuid, [userId, guids]);
    return unlessRefused(rows[0]).id === null ? [] : rows;
  }

  /** Inserts and schedules missing feeds, and keeps stored feeds scheduled for 14 more days. */
  async ensureFeeds(urls: readonly string[]): Promise<void> {
    await this.database.change(sql.ensureFeeds, [urls.map(feedKey), urls, urls.map(laneOf)]);
  }

  /** Returns the episodes of a feed as JSON; `[]` if the feed is not stored. */
  async readEpisodes(key: Buffer): Promise<string> {
    const [row] = await this.database.read<{ episodes: string }>(sql.selectEpisodes, [key]);
    return row?.episodes ?? '[]';
  }

  /**
   * Returns the episodes of stored feeds as JSON, in the order of the keys, until they exceed 2
   * MiB. The feed of the first key is returned at any size.
   */
  readEpisodesOfFeeds(keys: readonly Buffer[]) {
    return this.database.read<{ key: Buffer; episodes: string }>(sql.selectEpisodesOfAll, [keys]);
  }

  /** Returns a stored feed for a comparison, or `undefined` if its status is not `ok`. */
  async readComparable(key: Buffer): Promise<ComparableFeed | undefined> {
    const [row] = await this.database.read<{ episodes: string; declaredGuid: string | null }>(
      sql.selectComparedContent,
      [key],
    );
    if (!row) return undefined;
    const items = JSON.parse(row.episodes) as { episode_guid?: string }[];
    const guids = items.flatMap(({ episode_guid: guid }) => guid ?? []);
    return { guids, declaredGuid: row.declaredGuid };
  }

  /**
   * Creates the tasks that apply moves and declared guids to the followers' subscriptions. Returns
   * the held changes, and counts them in a metric.
   */
  async startVisits(
    keys: readonly Buffer[],
    { moves, guids }: { moves: boolean; guids: boolean },
  ): Promise<HeldChange[]> {
    const values = [keys, moves, guids];
    const changes = await this.database.change<HeldChange>(sql.startVisits, values);
    for (const { kind } of changes) this.heldChanges.inc({ kind });
    return changes;
  }

  /** Stores pushed content of feeds. {@link ensureFeeds} must have inserted them. */
  async savePushed(
    feeds: readonly {
      readonly key: string;
      readonly content: Content;
      readonly newFeedUrl: string | undefined;
      readonly artworkUrl: string | undefined;
    }[],
  ): Promise<void> {
    const rows = feeds.map(({ content, ...feed }) => ({ ...feed, ...content }));
    await this.database.change(sql.storePushed, [JSON.stringify(rows)]);
  }

  /** Makes feeds due, except pushed feeds and feeds fetched in the last 15 minutes. */
  async makeFeedsDue(keys: readonly Buffer[]): Promise<void> {
    await this.database.change(sql.makeDue, [keys]);
  }

  /** Leases up to `limit` due lanes, and reads the next due feed of each lane. */
  claim(limit: number): Promise<Claim[]> {
    return this.database.change<Claim>(laneSql.claimLanes, [limit]);
  }

  /** Ends the lease of a lane without a due feed. */
  async release({ lane, lease, blocks }: Claim): Promise<void> {
    await this.database.change(laneSql.releaseLane, [lane, lease, 0, blocks]);
  }

  /**
   * Stores the result of a fetch and ends the lease. Returns false and stores nothing if another
   * replica has leased the lane since.
   */
  async save({ lane, lease }: Claim, key: string, result: FetchResult): Promise<boolean> {
    const { lanePauseMs, laneBlocks, content, ...fetchState } = result;
    const [row] = await this.database.change<{ saved: number }>(laneSql.saveResult, [
      lane,
      lease,
      lanePauseMs,
      laneBlocks,
      key,
      JSON.stringify(fetchState),
      content ? JSON.stringify(content) : null,
    ]);
    return row?.saved === 1;
  }

  /**
   * Deletes up to `limit` feeds that no follower read for 14 days, lanes without scheduled feeds,
   * old previews and old imports. Returns the number of deleted feeds.
   */
  async sweep(limit: number): Promise<number> {
    const [row] = await this.database.change<{ removed: number }>(sql.deleteUnread, [limit]);
    return row?.removed ?? 0;
  }
}
