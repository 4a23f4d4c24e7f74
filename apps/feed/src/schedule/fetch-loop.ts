import { Failure } from '#contracts';
import type { Fetcher } from '#fetch';
import { oneCounter } from '#runtime';
import type { Claim, ClaimedFeed, FeedRepository } from '../feed.repository.js';
import { feedKey } from '../feed-address.js';
import { type LoopOptions, WorkLoop } from '../work-loop.js';
import { fetchFeed, type Outcome } from './feed-fetch.js';
import { areSameFeeds, candidateOf, comparableOf, type Move, nextMove } from './move.rules.js';
import { resultOf } from './result.rules.js';

/**
 * Interval of claims in milliseconds, and the share of the maximum number of fetches that one claim
 * starts. They spread the work of many due feeds, because requests of users share the processors
 * and Postgres.
 */
const [pauseAfterClaimMs, claimedShare] = [100, 0.2];

/** Share of fetches without `ETag` and `Last-Modified`, in case a server sends wrong ones. */
const unconditionalShare = 0.01;

const fetches = oneCounter('podcast_sync_feed_fetches_total', 'Fetches of feeds, by outcome.', [
  'outcome',
]);

/** Options of a {@link FetchLoop}. */
export interface FetchLoopOptions extends LoopOptions {
  readonly repository: FeedRepository;
  readonly fetcher: Fetcher;
  /** Changes of feeds that are applied to the followers' subscriptions (`FEEDS_APPLY`). */
  readonly apply: { readonly moves: boolean; readonly guids: boolean };
  /** Maximum number of fetches at the same time. */
  readonly concurrency: number;
  readonly random?: () => number;
}

/**
 * Fetches feeds that are due. Invariants:
 * - A lane is leased before its feed is fetched, so a host gets one fetch of its feeds at a time
 *   from all replicas together. Pictures, previews and the targets of redirects have no lane.
 * - A result is not stored after another lease of the lane. If a process dies, its leases expire.
 * - A fault of one fetch delays no claim of other lanes.
 * - The process holds at most `concurrency` documents.
 */
export class FetchLoop extends WorkLoop<Claim, FetchLoopOptions> {
  constructor(options: FetchLoopOptions) {
    super(options, {
      kind: 'lanes',
      concurrency: options.concurrency,
      claimLimit: Math.ceil(options.concurrency * claimedShare),
      pauseAfterClaimMs,
      pauseAfterFaultMs: 5_000,
      messages: {
        failed: 'feed fetch loop failed, retrying: feeds are not fetched',
        recovered: 'feed fetch loop works again',
      },
    });
  }

  protected override claim(limit: number): Promise<Claim[]> {
    return this.options.repository.claim(limit);
  }

  protected override async run(claim: Claim): Promise<void> {
    await this.fetch(claim).catch((error: unknown) => this.logFault(error));
  }

  private async fetch(claim: Claim): Promise<void> {
    const { repository, random = Math.random } = this.options;
    if (!claim.feed) return repository.release(claim);
    const feed = claim.feed;
    const start = performance.now();
    let outcome = await this.request(feed).catch((error: unknown) => this.toFailure(error, feed));
    const timing = { now: Date.now(), durationMs: performance.now() - start, random };
    const stored = () => repository.readEpisodes(Buffer.from(feed.key, 'hex'));
    const save = async () => {
      const move = await this.moveOf(feed, outcome, timing.now);
      const result = await resultOf(claim, feed, outcome, timing, stored);
      const isSaved = await repository.save(claim, feed.key, { ...result, move });
      if (isSaved) await this.startVisit(feed, outcome, move);
      return isSaved;
    };
    const isSaved = await save().catch((error: unknown) => {
      // Postgres is unavailable. The lease expires, and the feed is fetched again.
      if (error instanceof Failure) throw error;
      // Any other error would occur again with this outcome. Without a saved outcome, the feed
      // would be fetched at the end of each lease. So the fetch is saved as failed.
      outcome = this.toFailure(error, feed);
      return save();
    });
    const label = outcome.kind === 'failed' ? outcome.fault : outcome.kind;
    fetches.inc({ outcome: isSaved ? label : 'lease_lost' });
  }

  /** Returns the candidate for the feed's new URL with its sightings; null without a candidate. */
  private async moveOf(feed: ClaimedFeed, outcome: Outcome, now: number): Promise<Move | null> {
    const { repository } = this.options;
    const { url, key, move } = feed;
    if (outcome.kind === 'failed') return move;
    const document = outcome.kind === 'document' ? outcome.document : undefined;
    const to = candidateOf(url, outcome);
    // After a 304 the candidate of the stored document stays; a document without one removes it.
    if (to === undefined) return document ? null : move;
    const isRedirected = outcome.redirects.some((redirect) => redirect.url === to);
    const read = document && comparableOf(document);
    // From the second fetch with this redirect on, the stored content is that of the new URL.
    const isComparable = !isRedirected || move?.to !== to;
    const otherKey = isRedirected ? Buffer.from(key, 'hex') : feedKey(to);
    const other = isComparable ? await repository.readComparable(otherKey) : undefined;
    // The document's new URL must be fetched once to prove that it is a feed.
    if (!isRedirected && !other) await repository.ensureFeeds([to]);
    const [from, target] = isRedirected ? [other, read] : [read, other];
    return nextMove(move, to, {
      now,
      isWhole: isRedirected ? (document?.isWhole ?? true) : other !== undefined,
      isSame: () =>
        Boolean(from && target && areSameFeeds({ url, ...from }, { url: to, ...target })),
    });
  }

  private async startVisit(feed: ClaimedFeed, outcome: Outcome, move: Move | null): Promise<void> {
    const { repository, apply, log } = this.options;
    const declares =
      outcome.kind === 'document'
        ? outcome.document.declaredGuid
        : (feed.declaredGuid ?? undefined);
    const isMoving = move?.isProven && apply.moves;
    if (!feed.isVisitDue || !(isMoving || (declares !== undefined && apply.guids))) return;
    if (isMoving) await repository.ensureFeeds([move.to]);
    const held = await repository.startVisits([Buffer.from(feed.key, 'hex')], apply);
    for (const { kind } of held)
      log.warn(
        { host: new URL(feed.url).hostname, feed: feed.key.slice(0, 8) },
        kind === 'move'
          ? 'feed move not applied: many feeds of this host move to the same new URL; ' +
              'see the alert PodcastSyncFeedMovesHeld'
          : 'feed guid not applied: an unrelated feed declares the same guid; ' +
              'for many feeds see the alert PodcastSyncFeedGuidsHeld',
      );
  }

  private request(feed: ClaimedFeed): Promise<Outcome> {
    const { fetcher, random = Math.random } = this.options;
    const isUnconditional = random() < unconditionalShare;
    const request = isUnconditional ? { ...feed, etag: null, lastModified: null } : feed;
    return fetchFeed(fetcher, request, this.stopped.signal);
  }

  /** Returns a failed outcome for an unexpected error, so that the feed waits for a retry. */
  private toFailure(error: unknown, { key, url }: ClaimedFeed): Outcome {
    this.stopped.signal.throwIfAborted();
    // Logs neither the URL nor details of Postgres, because they can contain secrets.
    const feed = { host: new URL(url).hostname, feed: key.slice(0, 8) };
    const { stack } = error as Error;
    this.options.log.error({ ...feed, stack }, 'feed skipped until its next fetch: internal error');
    return { kind: 'failed', fault: 'internal' };
  }
}
