import { unavailable } from '#contracts';
import type { RequestEnd } from '#http';
import type { ServerResponse } from 'node:http';
import type { Authenticator, Caller } from '../auth/authenticator.js';
import { ChangeStream, type Ending, endings, type StreamPace } from './change.stream.js';

/** How many streams there are, and how they go. Other than the usual in tests alone. */
export interface StreamBounds extends StreamPace {
  /** Streams of one user: with one more the oldest ends. */
  readonly perUser: number;
  /** How long one lasts at most, in milliseconds; each ends at a time of its own in the last tenth of it. */
  readonly lastsMs: number;
  /** Over how long streams end that have to end together, in milliseconds. */
  readonly spreadMs: number;
  /** Between two looks at all of them, in milliseconds. */
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

/** Who hears of users' clocks. */
export interface Ear {
  listen(userId: string): Promise<void>;
  forget(userId: string): void;
}

/**
 * The streams of changes of a gateway (ADR 26). Invariants:
 * - there are at most `most`, and `perUser` of one user; a place is free as soon as its stream ends, however it ends;
 * - a user is listened to from before the first stream's clock is read until the last one ends, so that nothing falls in
 *   between; nobody else is;
 * - one timer serves all: an idle stream costs a look at it four times a second, and a write in 25;
 * - a stream ends with its credential: when that expires, and within a turn of hearing that it was revoked.
 */
export class ChangeStreams {
  /** Streams that ended, by reason. */
  readonly ended = Object.fromEntries(endings.map((ending) => [ending, 0])) as Record<Ending, number>;
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

  /** Streams that are open. */
  get open(): number {
    return this.count;
  }

  /**
   * Opens a stream.
   *
   * @param end of its request: the stream ends with it.
   * @param readClock reads where the user's clock is.
   * @param answer begins the answer.
   * @throws Failure `unavailable` where there are too many, or it ended before it began; what `readClock` throws.
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
      if (end.reached || !this.isOpen(stream)) throw unavailable('the stream ended before it began');
      stream.begin(answer(), stamp, performance.now());
    } catch (error) {
      this.end(stream, 'failed');
      throw error;
    }
  }

  /** Tells the streams of a user where the clock is. */
  hint(userId: string, stamp: string): void {
    const now = performance.now();
    for (const stream of this.users.get(userId) ?? []) stream.hint(stamp, now);
  }

  /** Ends all streams, spread over some time, as hints may be missing: whoever comes back polls. */
  lose(): void {
    this.endAll('lost', this.bounds.spreadMs);
  }

  /** Takes no more streams, and ends those that there are, spread over a time. */
  drain(overMs: number): void {
    this.draining = true;
    this.endAll('drain', overMs);
  }

  /** Ends whatever is still open. */
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
    const [ends, why] = expiresMs < lastsMs ? ([expiresMs, 'expired'] as const) : ([lastsMs, 'age'] as const);
    const stream = new ChangeStream(caller, this.bounds, now + ends, why);
    const streams = this.users.get(caller.userId) ?? new Set();
    this.users.set(caller.userId, streams.add(stream));
    this.counted(1);
    return stream;
  }

  private isOpen(stream: ChangeStream): boolean {
    return this.users.get(stream.caller.userId)?.has(stream) ?? false;
  }

  /** Ends one stream, if it is open. */
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

  /** Does what is due of all streams. */
  private turn(): void {
    const now = performance.now();
    const { revoked } = this.authenticator;
    const isNews = revoked !== this.revoked;
    this.revoked = revoked;
    for (const stream of this.all()) {
      if (now >= stream.endsAt) this.end(stream, stream.endsBy);
      else {
        // With each sign of life as well: the keys that verified a token may be there no more.
        const isAlive = stream.turn(now);
        if ((isAlive || isNews) && !this.authenticator.holds(stream.caller)) this.end(stream, 'revoked');
        else if (isAlive && stream.isStuck) this.end(stream, 'slow');
      }
    }
  }
}

/** Created once, as refusing a request has to cost less than sending it. */
const refusals = {
  draining: unavailable('the gateway stops'),
  full: unavailable('too many streams'),
};
