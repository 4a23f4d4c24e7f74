import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Failure, loadEpisodes, loadSubscriptions, type LoadVerdicts, type RequestOf, type Rpc } from '#contracts';
import type { StreamClient } from '#transport';
import type { Chunk } from './chunk.spool.js';
import type { Refusal, UserPart } from './user.part.js';

/** What sending parts has done so far. */
export interface Sent {
  subscriptions: number;
  episodes: number;
  clamped: number;
  /** Since when calls have been `unavailable`, in milliseconds of the process; `undefined` while they are answered. */
  waitingSince: number | undefined;
}

type LoadContract = typeof loadSubscriptions | typeof loadEpisodes;

/** Entries that were refused with `limit_reached` beside others are sent once more, so few at a time. */
const fewEntries = 25;
/** The pause after the first answer `unavailable`, doubled up to the last, in milliseconds. */
const [firstPauseMs, lastPauseMs] = [100, 5_000];

/**
 * Sends users' parts to the services, one chunk of a user after the other. A chunk has one request id however often it is
 * sent, so that one whose answer was lost is not applied twice; `unavailable` is no refusal, and tried again for ever. Of a
 * user who is disabled or erased nothing is applied, and the line that begins the part is refused.
 */
export class PartSender {
  readonly sent: Sent = { subscriptions: 0, episodes: 0, clamped: 0, waitingSince: undefined };

  constructor(
    private readonly client: StreamClient,
    private readonly refuse: (refusals: Refusal[]) => Promise<void>,
    private readonly stopped: AbortSignal,
  ) {}

  /** Sends all of a part. @throws AbortError once it is stopped. */
  async send(part: UserPart): Promise<void> {
    const userId = part.userId as string;
    // From a system of this kind, which has told all that it has apart.
    const distinct = part.clock !== undefined;
    try {
      if (part.clock !== undefined) await this.verdicts(loadSubscriptions, { userId, entries: [], clock: part.clock });
      for await (const chunk of part.subscriptions()) {
        await this.chunk(loadSubscriptions, userId, chunk, { distinct });
        this.sent.subscriptions += chunk.entries.length;
      }
      for await (const chunk of part.episodes()) {
        await this.chunk(loadEpisodes, userId, chunk, { distinct });
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

  private async chunk<C extends LoadContract>(
    contract: C,
    userId: string,
    chunk: Chunk<RequestOf<C>['entries'][number]>,
    more: Partial<RequestOf<C>> = {},
  ): Promise<void> {
    const { entries, lines } = chunk;
    const { refused, clamped } = await this.verdicts(contract, { userId, entries, ...more } as RequestOf<C>);
    this.sent.clamped += clamped;
    const isFew = entries.length <= fewEntries;
    const again = isFew ? [] : refused.filter(({ code }) => code === 'limit_reached').map(({ entry }) => entry);
    const kept = new Set(again);
    const final = refused.filter(({ entry }) => !kept.has(entry));
    if (final.length > 0)
      await this.refuse(final.map(({ entry, code, message }) => ({ line: lines[entry] as number, code, message })));
    for (let from = 0; from < again.length; from += fewEntries) {
      const few = again.slice(from, from + fewEntries);
      const rest = { entries: few.map((entry) => entries[entry]), lines: few.map((entry) => lines[entry]) };
      await this.chunk(contract, userId, rest as typeof chunk, more);
    }
  }

  private async verdicts<C extends LoadContract & Rpc>(contract: C, request: RequestOf<C>): Promise<LoadVerdicts> {
    const requestId = randomUUID();
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, lastPauseMs)) {
      try {
        const verdicts = (await this.client.call(contract, request, { requestId })) as LoadVerdicts;
        this.sent.waitingSince = undefined;
        return verdicts;
      } catch (error) {
        const isRefused = !(error instanceof Failure) || error.code !== 'unavailable';
        if (isOfRefusedUser(error)) throw error;
        // Without its clock nothing of a part may be written: clients would miss it.
        if (isRefused && request.entries.length === 0) throw error;
        if (isRefused) return allRefused(request.entries.length, error);
      }
      this.sent.waitingSince ??= performance.now();
      await delay(pauseMs * (0.75 + Math.random() / 2), undefined, { signal: this.stopped });
    }
  }
}

/** Whether nothing is done for the user any more: then nothing of the part is, either. */
function isOfRefusedUser(error: unknown): boolean {
  return error instanceof Failure && error.code === 'unauthorized';
}

/** A chunk that the service can't take at all, which is a fault of ours: the others go on. */
function allRefused(entries: number, error: unknown): LoadVerdicts {
  const { message } = error as Error;
  const refused = Array.from({ length: entries }, (_, entry) => ({ entry, code: message as 'invalid_value', message }));
  return { refused, clamped: 0 };
}
