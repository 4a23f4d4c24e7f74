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
 * Pause after a claim in milliseconds, and maximum number of lanes that one claim leases, as a
 * share of `concurrency`. Both spread the work of many due feeds over time, because requests of
 * users need the same processors and Postgres.
 */
const [pauseAfterClaimMs, claimedShare] = [100, 0.2];

/**
 * Share of fetches that send no validators. They get the document from servers that answer 304 by
 * mistake.
 */
const unconditionalShare = 0.01;

const fetchOutcomes = oneCounter(
  'podcast_sync_feed_fetches_total',
  'Fetches of feeds, by outcome.',
  ['outcome'],
);

/** Options of a {@link FetchLoop}. */
export interface FetchLoopOptions extends LoopOptions {
  readonly repository: FeedRepository;
  readonly fetcher: Fetcher;
  /** Changes of feeds that are applied to the followers' subscriptions (`FEEDS_APPLY`). */
  readonly apply: { readonly moves: boolean; readonly guids: boolean };
  /** Maximum number of fetches at the same time. */
  readonly concurrency: number;
  /** Returns numbers from 0 to 1. Default: `Math.random`. */
  readonly random?: () => number;
}

/**
 * Fetches feeds that are due. Invariants:
 * - A lane is leased before its feed is fetched. So a host gets one fetch of its feeds at a time
 *   from all replicas together. Pictures, previews and targets of redirects are fetched without a
 *   lane.
 * - A result is not stored if the lane has another lease by then. If a process dies, its leases
 *   expire.
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
    await this.fetchClaimedFeed(claim).catch((error: unknown) => this.logFault(error));
  }

  private async fetchClaimedFeed(claim: Claim): Promise<void> {
    const { repository, random = Math.random } = this.options;
    if (!claim.feed) return repository.release(claim);
    const feed = claim.feed;
    const startedAt = performance.now();
    let outcome = await this.requestFeed(feed).catch((error: unknown) =>
      this.toFailure(error, feed),
    );
    const timing = { now: Date.now(), durationMs: performance.now() - startedAt, random };
    const readStoredEpisodes = () => repository.readEpisodes(Buffer.from(feed.key, 'hex'));
    const saveOutcome = async () => {
      const move = await this.findMove(feed, outcome, timing.now);
      const result = await resultOf(claim, feed, outcome, timing, readStoredEpisodes);
      const isSaved = await repository.save(claim, feed.key, { ...result, move });
      if (isSaved) await this.startVisit(feed, outcome, move);
      return isSaved;
    };
    const isSaved = await saveOutcome().catch((error: unknown) => {
      // Postgres is unavailable. The lease expires, and the feed is fetched again.
      if (error instanceof Failure) throw error;
      // Any other error would occur again with this outcome. Without a saved outcome, the feed
      // would be fetched at the end of each lease. So the fetch is saved as failed.
      outcome = this.toFailure(error, feed);
      return saveOutcome();
    });
    const outcomeLabel = outcome.kind === 'failed' ? outcome.fault : outcome.kind;
    fetchOutcomes.inc({ outcome: isSaved ? outcomeLabel : 'lease_lost' });
  }

  /** Returns the candidate for the feed's new URL after a fetch; null without a candidate. */
  private async findMove(feed: ClaimedFeed, outcome: Outcome, now: number): Promise<Move | null> {
    const { repository } = this.options;
    const { url, key, move } = feed;
    if (outcome.kind === 'failed') return move;
    const document = outcome.kind === 'document' ? outcome.document : undefined;
    const candidate = candidateOf(url, outcome);
    // A 304 leaves the stored candidate unchanged. A document without a candidate removes it.
    if (candidate === undefined) return document ? null : move;
    const isRedirected = outcome.redirects.some((redirect) => redirect.url === candidate);
    const fetchedContent = document && comparableOf(document);
    // From the second fetch with this redirect on, the stored content is already that of the new
    // URL, so its comparison would prove nothing.
    const isComparable = !isRedirected || move?.to !== candidate;
    const comparedKey = isRedirected ? Buffer.from(key, 'hex') : feedKey(candidate);
    const storedContent = isComparable ? await repository.readComparable(comparedKey) : undefined;
    // The new URL that the document names is inserted as a feed, because only a fetch can prove
    // that it is one.
    if (!isRedirected && !storedContent) await repository.ensureFeeds([candidate]);
    const [from, target] = isRedirected
      ? [storedContent, fetchedContent]
      : [fetchedContent, storedContent];
    return nextMove(move, candidate, {
      now,
      isWhole: isRedirected ? (document?.isWhole ?? true) : storedContent !== undefined,
      isSame: () =>
        Boolean(from && target && areSameFeeds({ url, ...from }, { url: candidate, ...target })),
    });
  }

  /** Creates the task that applies a proven move and the declared guid, if a visit is due. */
  private async startVisit(feed: ClaimedFeed, outcome: Outcome, move: Move | null): Promise<void> {
    const { repository, apply, log } = this.options;
    const declaredGuid =
      outcome.kind === 'document'
        ? outcome.document.declaredGuid
        : (feed.declaredGuid ?? undefined);
    const isMoving = move?.isProven && apply.moves;
    if (!feed.isVisitDue || !(isMoving || (declaredGuid !== undefined && apply.guids))) return;
    if (isMoving) await repository.ensureFeeds([move.to]);
    const heldChanges = await repository.startVisits([Buffer.from(feed.key, 'hex')], apply);
    for (const { kind } of heldChanges)
      log.warn(
        { host: new URL(feed.url).hostname, feed: feed.key.slice(0, 8) },
        kind === 'move'
          ? 'feed move not applied: many feeds of this host move to the same new URL; ' +
              'see the alert PodcastSyncFeedMovesHeld'
          : 'feed guid not applied: an unrelated feed declares the same guid; ' +
              'for many feeds see the alert PodcastSyncFeedGuidsHeld',
      );
  }

  private requestFeed(feed: ClaimedFeed): Promise<Outcome> {
    const { fetcher, random = Math.random } = this.options;
    const isUnconditional = random() < unconditionalShare;
    const request = isUnconditional ? { ...feed, etag: null, lastModified: null } : feed;
    return fetchFeed(fetcher, request, this.stopped.signal);
  }

  /** Logs an unexpected error. Returns a failed outcome, after which the feed is fetched later. */
  private toFailure(error: unknown, { key, url }: ClaimedFeed): Outcome {
    this.stopped.signal.throwIfAborted();
    // Logs neither the URL nor details of Postgres, because they can contain secrets.
    const feedFields = { host: new URL(url).hostname, feed: key.slice(0, 8) };
    const { stack } = error as Error;
    this.options.log.error(
      { ...feedFields, stack },
      'feed skipped until its next fetch: internal error',
    );
    return { kind: 'failed', fault: 'internal' };
  }
}
