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
  /** Start of the current `unavailable` period, by `performance.now()`. */
  waitingSince: number | undefined;
}

/** Time of a subscription for which the file has no time. Every change from a device is newer. */
const oldestTimestamp = '1970-01-01T00:00:00Z';
/** Time of an unsubscription without a time. At equal times the subscription would win. */
const afterOldest = '1970-01-01T00:00:00.000001Z';

/** Entries per retry for episodes that were rejected with `limit_reached` in a larger chunk. */
const fewEntries = 25;

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
        await this.applyOrReject(chunk.lines, () => this.subscribe(userId, chunk));
        this.sent.subscriptions += chunk.entries.length;
      }
      for await (const chunk of part.episodes.chunks()) {
        await this.applyOrReject(chunk.lines, () => this.upload(userId, chunk));
        this.sent.episodes += chunk.entries.length;
      }
    } catch (error) {
      if (!isOfRefusedUser(error)) throw error;
      const message = 'the user is disabled or erased';
      await this.reject([{ line: part.line, code: 'user_refused', message }]);
    } finally {
      part.dispose();
    }
  }

  /**
   * Applies lines. If the service fails, reports the lines as rejected, so that the load continues.
   *
   * @throws Failure `unauthorized` for a disabled or erased user; other errors than Failure.
   */
  private async applyOrReject(
    lines: readonly number[],
    apply: () => Promise<unknown>,
  ): Promise<void> {
    try {
      await apply();
    } catch (error) {
      if (!(error instanceof Failure) || isOfRefusedUser(error)) throw error;
      const { message } = error;
      await this.reject(lines.map((line) => ({ line, code: message, message })));
    }
  }

  /** Sends a POST, and a PATCH for each unsubscribed entry. */
  private async subscribe(
    userId: string,
    { entries, lines }: Chunk<LoadedSubscription>,
  ): Promise<void> {
    const posted = entries.map(({ isSubscribed, timestamp = oldestTimestamp, ...names }) => ({
      ...names,
      // A POST subscribes: it has the oldest time, so that the PATCH wins.
      timestamp: isSubscribed ? timestamp : oldestTimestamp,
    }));
    const { success, failure } = (
      await this.call(subscribe, { userId, body: { subscriptions: posted } })
    ).parse();
    const left = posted.map(({ feed_url }, index) => ({
      feedUrl: feed_url,
      line: lines[index] as number,
    }));
    const lineOf = (feedUrl: string) => {
      const place = left.findIndex((entry) => entry.feedUrl === feedUrl);
      return left.splice(place, 1)[0]?.line as number;
    };
    // `superseded` means that the stored state is newer, which is not a rejection.
    const rejected = failure.filter(({ code }) => code !== 'superseded');
    if (rejected.length > 0)
      await this.reject(
        rejected.map(({ feed_url, code, message }) => ({ line: lineOf(feed_url), code, message })),
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
        timestamp: timestamp ?? afterOldest,
      };
      await this.applyOrReject([lines[index] as number], () =>
        this.call(updateSubscription, patch),
      );
    }
  }

  private async upload(userId: string, { entries, lines }: Chunk<LoadedEpisode>): Promise<void> {
    const numbered = entries.map((entry, temporary_id) => ({ ...entry, temporary_id }));
    const { failure } = (
      await this.call(uploadEpisodes, { userId, body: { episodes: numbered } })
    ).parse();
    const failed = failure.map(({ temporary_id, code, message }) => ({
      entry: Number(temporary_id),
      code,
      message,
    }));
    const isRepeated = (code: string) => code === 'limit_reached' && entries.length > fewEntries;
    const rejected = failed.filter(({ code }) => !isRepeated(code));
    if (rejected.length > 0)
      await this.reject(
        rejected.map(({ entry, code, message }) => ({
          line: lines[entry] as number,
          code,
          message,
        })),
      );
    const again = failed.filter(({ code }) => isRepeated(code)).map(({ entry }) => entry);
    for (let from = 0; from < again.length; from += fewEntries) {
      const few = again.slice(from, from + fewEntries);
      const rest = {
        entries: few.map((entry) => entries[entry] as LoadedEpisode),
        lines: few.map((entry) => lines[entry] as number),
      };
      await this.upload(userId, rest);
    }
  }

  private async call<C extends Rpc>(contract: C, request: RequestOf<C>): Promise<ReplyOf<C>> {
    const onUnavailable = () => void (this.sent.waitingSince ??= performance.now());
    const reply = await callUntilAvailable(this.client, contract, request, {
      stopped: this.stopped,
      onUnavailable,
    });
    this.sent.waitingSince = undefined;
    return reply;
  }
}

function isOfRefusedUser(error: unknown): boolean {
  return error instanceof Failure && error.code === 'unauthorized';
}
