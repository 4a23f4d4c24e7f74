import { unavailable } from '#contracts';
import type { RequestEnd } from '#http';
import type { ServerResponse } from 'node:http';
import type { Authenticator, Caller } from '../auth/authenticator.js';
import { ChangeStream, type Ending, endings, type StreamPace } from './change.stream.js';

/** Limits and timing of streams. Only tests override them. */
export interface StreamBounds extends StreamPace {
  /** Maximum streams of one user; a further one ends the oldest. */
  readonly perUser: number;
  /** Maximum lifetime in milliseconds. Each stream ends at a random time in its last tenth. */
  readonly lastsMs: number;
  /** Time over which streams that must end together are spread, in milliseconds. */
  readonly spreadMs: number;
  /** Interval of checks of all streams, in milliseconds. */
  readonly turnMs: number;
}

export const usualBounds: StreamBounds = {
  perUser: 6,
  beatMs: 25_000,
  joinMs: 250,
  waitingBytes: 4_096,
  lastsMs: 3_600_000,
  spreadMs: 30_000,
  turnMs: 250,
};

/** Subscribes to notifications about users' clocks. */
export interface Ear {
  listen(userId: string): Promise<void>;
  forget(userId: string): void;
}

/**
 * The streams of changes of a gateway (ADR 26). Invariants:
 * - At most `most` streams are open, and `perUser` of one user. The end of a stream frees its slot.
 * - A user's clock is subscribed to exactly while streams are open. The subscription precedes the
 *   first read of the clock, so that no change is missed.
 * - One timer serves all streams. An idle stream costs a check every 250 ms and a write every 25 s.
 * - A stream ends with its credential: at its expiry, and within 250 ms of a received revocation.
 */
export class ChangeStreams {
  readonly ended = Object.fromEntries(endings.map((ending) => [ending, 0])) as Record<
    Ending,
    number
  >;
  private readonly users = new Map<string, Set<ChangeStream>>();
  private count = 0;
  private draining = false;
  private revoked: number;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly most: number,
    private readonly authenticator: Pick<Authenticator, 'holds' | 'revoked'>,
    private readonly ear: Ear,
    private readonly bounds: StreamBounds = usualBounds,
  ) {
    this.revoked = authenticator.revoked;
  }

  get open(): number {
    return this.count;
  }

  /**
   * Opens a stream.
   *
   * @param end of the request, which ends the stream.
   * @param readClock returns the current stamp of the user's clock.
   * @param answer starts the answer.
   * @throws Failure `unavailable` if there are too many streams or this one has ended; errors of
   *   `readClock`.
   */
  async follow(
    caller: Caller,
    end: RequestEnd,
    readClock: () => Promise<string>,
    answer: () => ServerResponse,
  ): Promise<void> {
    const stream = this.take(caller);
    end.onReached(() => this.end(stream, 'client'));
    try {
      await this.ear.listen(caller.userId);
      const stamp = await readClock();
      if (end.reached || !this.isOpen(stream))
        throw unavailable('the stream ended before it began');
      stream.begin(answer(), stamp, performance.now());
    } catch (error) {
      this.end(stream, 'failed');
      throw error;
    }
  }

  /** Notifies the streams of a user of the clock's stamp. */
  hint(userId: string, stamp: string): void {
    const now = performance.now();
    for (const stream of this.users.get(userId) ?? []) stream.hint(stamp, now);
  }

  /** Ends all streams after lost notifications. Clients poll when they reconnect. */
  lose(): void {
    this.endAll('lost', this.bounds.spreadMs);
  }

  /** Rejects new streams and ends the open ones, spread over `overMs` milliseconds. */
  drain(overMs: number): void {
    this.draining = true;
    this.endAll('drain', overMs);
  }

  close(): void {
    this.drain(0);
    this.turn();
  }

  private take(caller: Caller): ChangeStream {
    if (this.draining) throw refusals.draining;
    const own = this.users.get(caller.userId);
    if (own && own.size >= this.bounds.perUser) this.end([...own][0] as ChangeStream, 'replaced');
    if (this.count >= this.most) throw refusals.full;
    const now = performance.now();
    const lastsMs = this.bounds.lastsMs * (0.9 + Math.random() / 10);
    const expiresMs = (caller.expires ?? Infinity) - Date.now();
    const [ends, why] =
      expiresMs < lastsMs ? ([expiresMs, 'expired'] as const) : ([lastsMs, 'age'] as const);
    const stream = new ChangeStream(caller, this.bounds, now + ends, why);
    const streams = this.users.get(caller.userId) ?? new Set();
    this.users.set(caller.userId, streams.add(stream));
    this.counted(1);
    return stream;
  }

  private isOpen(stream: ChangeStream): boolean {
    return this.users.get(stream.caller.userId)?.has(stream) ?? false;
  }

  private end(stream: ChangeStream, ending: Ending): void {
    const { userId } = stream.caller;
    const own = this.users.get(userId);
    if (!own?.delete(stream)) return;
    if (own.size === 0) {
      this.users.delete(userId);
      this.ear.forget(userId);
    }
    this.ended[ending] += 1;
    this.counted(-1);
    stream.end(ending);
  }

  private endAll(ending: Ending, overMs: number): void {
    const now = performance.now();
    let place = 0;
    for (const stream of this.all()) {
      const at = now + (overMs * place++) / this.count;
      if (at < stream.endsAt) [stream.endsAt, stream.endsBy] = [at, ending];
    }
  }

  private *all(): Iterable<ChangeStream> {
    for (const streams of this.users.values()) yield* streams;
  }

  private counted(change: 1 | -1): void {
    this.count += change;
    if (this.count > 0) this.timer ??= setInterval(() => this.turn(), this.bounds.turnMs).unref();
    else {
      clearInterval(this.timer);
      this.timer = undefined;
    }
  }

  /** Ends, writes to or checks all streams, as due. */
  private turn(): void {
    const now = performance.now();
    const { revoked } = this.authenticator;
    const isNews = revoked !== this.revoked;
    this.revoked = revoked;
    for (const stream of this.all()) {
      if (now >= stream.endsAt) this.end(stream, stream.endsBy);
      else {
        // Checks with each heartbeat too, because the keys that verified a token may have been
        // removed.
        const isAlive = stream.turn(now);
        if ((isAlive || isNews) && !this.authenticator.holds(stream.caller))
          this.end(stream, 'revoked');
        else if (isAlive && stream.isStuck) this.end(stream, 'slow');
      }
    }
  }
}

/** Created once, because a refusal must cost less than the request. */
const refusals = {
  draining: unavailable('the gateway stops'),
  full: unavailable('too many streams'),
};
