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
import type { Chunk } from './chunk.spool.js';
import type { EpisodeEntry, SubscriptionEntry } from './data.line.js';
import type { Refusal, UserPart } from './user.part.js';

/** What sending parts has done so far. */
export interface Sent {
  subscriptions: number;
  episodes: number;
  /** Since when calls have been `unavailable`, in milliseconds of the process; `undefined` while they are answered. */
  waitingSince: number | undefined;
}

/** The time of a state that a file gives no time for. Every state that a device has sent is newer. */
const oldest = '1970-01-01T00:00:00Z';
/** Later than {@link oldest}, as of equal times subscribed wins. */
const afterOldest = '1970-01-01T00:00:00.000001Z';

/** Episodes that were refused with `limit_reached` next to others are sent once more, so few at a time. */
const fewEntries = 25;

/**
 * Sends users' parts to the services by the contracts of the API, one chunk of a user after the other. Invariants:
 * - a chunk has one request id however often it is sent, so one whose answer was lost is not applied twice;
 * - `unavailable` is no refusal: the call is repeated until the service answers;
 * - of a disabled or erased user nothing is applied, and the line that begins the part is refused.
 */
export class PartSender {
  readonly sent: Sent = { subscriptions: 0, episodes: 0, waitingSince: undefined };

  constructor(
    private readonly client: StreamClient,
    private readonly refuse: (refusals: Refusal[]) => Promise<void>,
    private readonly stopped: AbortSignal,
  ) {}

  /** Sends all of a part. @throws AbortError once it is stopped. */
  async send(part: UserPart): Promise<void> {
    const userId = part.userId as string;
    try {
      for await (const chunk of part.subscriptions.chunks()) {
        await this.applyOrRefuse(chunk.lines, () => this.subscribe(userId, chunk));
        this.sent.subscriptions += chunk.entries.length;
      }
      for await (const chunk of part.episodes.chunks()) {
        await this.applyOrRefuse(chunk.lines, () => this.upload(userId, chunk));
        this.sent.episodes += chunk.entries.length;
      }
    } catch (error) {
      if (!isOfRefusedUser(error)) throw error;
      const message = 'the user is disabled, or was erased';
      await this.refuse([{ line: part.line, code: 'user_refused', message }]);
    } finally {
      part.dispose();
    }
  }

  /** Refuses lines that a service can't take at all, which is a fault of ours: the others go on. */
  private async applyOrRefuse(lines: readonly number[], apply: () => Promise<unknown>): Promise<void> {
    try {
      await apply();
    } catch (error) {
      if (!(error instanceof Failure) || isOfRefusedUser(error)) throw error;
      const { message } = error;
      await this.refuse(lines.map((line) => ({ line, code: message, message })));
    }
  }

  /** POST, and for each entry that is not subscribed a PATCH. */
  private async subscribe(userId: string, { entries, lines }: Chunk<SubscriptionEntry>): Promise<void> {
    const posted = entries.map(({ isSubscribed, timestamp = oldest, ...names }) => ({
      ...names,
      // A POST subscribes: at the oldest time, so that the PATCH decides.
      timestamp: isSubscribed ? timestamp : oldest,
    }));
    const { success, failure } = (await this.call(subscribe, { userId, body: { subscriptions: posted } })).parse();
    const left = posted.map(({ feed_url }, index) => ({ feedUrl: feed_url, line: lines[index] as number }));
    const lineOf = (feedUrl: string) => {
      const place = left.findIndex((entry) => entry.feedUrl === feedUrl);
      return left.splice(place, 1)[0]?.line as number;
    };
    // What is stored is newer: that is no refusal.
    const refused = failure.filter(({ code }) => code !== 'superseded');
    if (refused.length > 0)
      await this.refuse(refused.map(({ feed_url, code, message }) => ({ line: lineOf(feed_url), code, message })));
    const accepted = new Set(success.map(({ feed_url }) => feed_url));
    for (const [
      index,
      { feed_url: feedUrl, guid = podcastGuid(feedUrl), isSubscribed, timestamp },
    ] of entries.entries()) {
      if (isSubscribed || !accepted.has(feedUrl)) continue;
      const patch = { userId, guid: guid.toLowerCase(), isSubscribed, timestamp: timestamp ?? afterOldest };
      await this.applyOrRefuse([lines[index] as number], () => this.call(updateSubscription, patch));
    }
  }

  private async upload(userId: string, { entries, lines }: Chunk<EpisodeEntry>): Promise<void> {
    const numbered = entries.map((entry, temporary_id) => ({ ...entry, temporary_id }));
    const { failure } = (await this.call(uploadEpisodes, { userId, body: { episodes: numbered } })).parse();
    const failed = failure.map(({ temporary_id, code, message }) => ({ entry: Number(temporary_id), code, message }));
    const isRepeated = (code: string) => code === 'limit_reached' && entries.length > fewEntries;
    const refusals = failed.filter(({ code }) => !isRepeated(code));
    if (refusals.length > 0)
      await this.refuse(refusals.map(({ entry, code, message }) => ({ line: lines[entry] as number, code, message })));
    const again = failed.filter(({ code }) => isRepeated(code)).map(({ entry }) => entry);
    for (let from = 0; from < again.length; from += fewEntries) {
      const few = again.slice(from, from + fewEntries);
      const rest = {
        entries: few.map((entry) => entries[entry] as EpisodeEntry),
        lines: few.map((entry) => lines[entry] as number),
      };
      await this.upload(userId, rest);
    }
  }

  private async call<C extends Rpc>(contract: C, request: RequestOf<C>): Promise<ReplyOf<C>> {
    const onUnavailable = () => void (this.sent.waitingSince ??= performance.now());
    const reply = await callUntilAvailable(this.client, contract, request, { stopped: this.stopped, onUnavailable });
    this.sent.waitingSince = undefined;
    return reply;
  }
}

/** Whether the services do nothing for the user. */
function isOfRefusedUser(error: unknown): boolean {
  return error instanceof Failure && error.code === 'unauthorized';
}
