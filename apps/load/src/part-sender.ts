import {
  Failure,
  podcastGuid,
  type ReplyOf,
  type RequestOf,
  type Rpc,
  subscribe,
  updateSubscription,
  uploadEpisodes,
} from '#contracts';
import { callUntilAvailable, type StreamClient } from '#transport';
import type { Chunk } from './chunk-spool.js';
import type { LoadedEpisode, LoadedSubscription } from './data-line.js';
import type { RejectedLine, UserPart } from './user-part.js';

/** Totals of the sent parts. */
export interface SentTotals {
  subscriptions: number;
  episodes: number;
  /** `performance.now()` at the first `unavailable`; undefined while the services answer. */
  waitingSince: number | undefined;
}

/** Time of a subscription without a time in the file. Every change from a device is newer. */
const oldestTimestamp = '1970-01-01T00:00:00Z';
/** Time of an unsubscription without a time. At an equal time, the subscription would win. */
const oldestUnsubscribeTimestamp = '1970-01-01T00:00:00.000001Z';

/** Number of entries per retry of episodes, after `limit_reached` for a larger chunk. */
const entriesPerRetry = 25;

/**
 * Sends users' parts to the services by the API's contracts, one chunk of a user after the other.
 * Invariants:
 * - all attempts of a chunk have the same request id, so a lost response causes no second effect;
 * - `unavailable` is not a rejection: the call is repeated until the service answers;
 * - the first chunk after the user was disabled or erased ends the part, and its first line is
 *   rejected. Chunks that were sent before stay applied (docs/reference/data.md).
 */
export class PartSender {
  readonly sent: SentTotals = { subscriptions: 0, episodes: 0, waitingSince: undefined };

  constructor(
    private readonly client: StreamClient,
    private readonly reject: (rejectedLines: RejectedLine[]) => Promise<void>,
    private readonly stopped: AbortSignal,
  ) {}

  /** Sends a whole part. @throws AbortError after a stop. */
  async send(part: UserPart): Promise<void> {
    const userId = part.userId as string;
    try {
      for await (const chunk of part.subscriptions.chunks()) {
        await this.applyOrReject(chunk.lines, () => this.sendSubscriptions(userId, chunk));
        this.sent.subscriptions += chunk.entries.length;
      }
      for await (const chunk of part.episodes.chunks()) {
        await this.applyOrReject(chunk.lines, () => this.sendEpisodes(userId, chunk));
        this.sent.episodes += chunk.entries.length;
      }
    } catch (error) {
      if (!isRefusedUserError(error)) throw error;
      const message = 'the user is disabled or erased';
      await this.reject([{ line: part.line, code: 'user_refused', message }]);
    } finally {
      part.dispose();
    }
  }

  /**
   * Sends lines by calling `apply`. If the service answers with a failure, reports the lines as
   * rejected, and the load continues.
   *
   * @throws Failure `unauthorized` for a disabled or erased user, and errors that are no Failure.
   */
  private async applyOrReject(
    lines: readonly number[],
    apply: () => Promise<unknown>,
  ): Promise<void> {
    try {
      await apply();
    } catch (error) {
      if (!(error instanceof Failure) || isRefusedUserError(error)) throw error;
      const { message } = error;
      await this.reject(lines.map((line) => ({ line, code: message, message })));
    }
  }

  /** Sends a POST with all entries, then a PATCH for each accepted entry that is unsubscribed. */
  private async sendSubscriptions(
    userId: string,
    { entries, lines }: Chunk<LoadedSubscription>,
  ): Promise<void> {
    const postedEntries = entries.map(
      ({ isSubscribed, timestamp = oldestTimestamp, ...fields }) => ({
        ...fields,
        // The PATCH of an unsubscribed entry must be later than this POST, which subscribes.
        timestamp: isSubscribed ? timestamp : oldestTimestamp,
      }),
    );
    const { success, failure } = (
      await this.callService(subscribe, { userId, body: { subscriptions: postedEntries } })
    ).parse();
    const unreported = postedEntries.map(({ feed_url }, index) => ({
      feedUrl: feed_url,
      line: lines[index] as number,
    }));
    /** Returns the line of the next unreported entry with a feed URL, which can be repeated. */
    const nextLineOf = (feedUrl: string) => {
      const index = unreported.findIndex((entry) => entry.feedUrl === feedUrl);
      return unreported.splice(index, 1)[0]?.line as number;
    };
    // Ignores `superseded`: the stored state is newer.
    const rejected = failure.filter(({ code }) => code !== 'superseded');
    if (rejected.length > 0)
      await this.reject(
        rejected.map(({ feed_url, code, message }) => ({
          line: nextLineOf(feed_url),
          code,
          message,
        })),
      );
    const accepted = new Set(success.map(({ feed_url }) => feed_url));
    for (const [
      index,
      { feed_url: feedUrl, guid = podcastGuid(feedUrl), isSubscribed, timestamp },
    ] of entries.entries()) {
      if (isSubscribed || !accepted.has(feedUrl)) continue;
      const patch = {
        userId,
        guid: guid.toLowerCase(),
        isSubscribed,
        timestamp: timestamp ?? oldestUnsubscribeTimestamp,
      };
      await this.applyOrReject([lines[index] as number], () =>
        this.callService(updateSubscription, patch),
      );
    }
  }

  private async sendEpisodes(
    userId: string,
    { entries, lines }: Chunk<LoadedEpisode>,
  ): Promise<void> {
    const numberedEntries = entries.map((entry, temporary_id) => ({ ...entry, temporary_id }));
    const { failure } = (
      await this.callService(uploadEpisodes, { userId, body: { episodes: numberedEntries } })
    ).parse();
    const failed = failure.map(({ temporary_id, code, message }) => ({
      index: Number(temporary_id),
      code,
      message,
    }));
    const canRetry = (code: string) => code === 'limit_reached' && entries.length > entriesPerRetry;
    const rejected = failed.filter(({ code }) => !canRetry(code));
    if (rejected.length > 0)
      await this.reject(
        rejected.map(({ index, code, message }) => ({
          line: lines[index] as number,
          code,
          message,
        })),
      );
    const retryIndexes = failed.filter(({ code }) => canRetry(code)).map(({ index }) => index);
    for (let from = 0; from < retryIndexes.length; from += entriesPerRetry) {
      const indexes = retryIndexes.slice(from, from + entriesPerRetry);
      const smallerChunk = {
        entries: indexes.map((index) => entries[index] as LoadedEpisode),
        lines: indexes.map((index) => lines[index] as number),
      };
      await this.sendEpisodes(userId, smallerChunk);
    }
  }

  private async callService<C extends Rpc>(
    contract: C,
    request: RequestOf<C>,
  ): Promise<ReplyOf<C>> {
    const onUnavailable = () => void (this.sent.waitingSince ??= performance.now());
    const reply = await callUntilAvailable(this.client, contract, request, {
      stopped: this.stopped,
      onUnavailable,
    });
    this.sent.waitingSince = undefined;
    return reply;
  }
}

function isRefusedUserError(error: unknown): boolean {
  return error instanceof Failure && error.code === 'unauthorized';
}
