import { unavailable } from '#contracts';
import type { RequestEnd } from '#http';
import type { ServerResponse } from 'node:http';
import type { Authenticator, Caller } from '../auth/authenticator.js';
import { ChangeStream, type EndReason, endReasons, type StreamTiming } from './change.stream.js';

/** Limits and timing of streams. Only tests override them. */
export interface StreamBounds extends StreamTiming {
  /** Maximum streams of one user; a further stream ends the user's oldest. */
  readonly perUser: number;
  /** Maximum lifetime in milliseconds. Each stream ends at a random time in its last tenth. */
  readonly lifetimeMs: number;
  /** Time in milliseconds over which the ends of all streams are spread after a loss. */
  readonly spreadMs: number;
  /** Interval of checks of all streams, in milliseconds. */
  readonly checkMs: number;
}

/** The limits and timing in production. */
export const defaultBounds: StreamBounds = {
  perUser: 6,
  heartbeatMs: 25_000,
  mergeMs: 250,
  maxUnreadBytes: 4_096,
  lifetimeMs: 3_600_000,
  spreadMs: 30_000,
  checkMs: 250,
};

/** Subscribes to notifications about users' clocks. */
export interface ClockSubscriber {
  subscribe(userId: string): Promise<void>;
  unsubscribe(userId: string): void;
}

/**
 * The streams of changes of a gateway (ADR 26). Invariants:
 * - At most `maxStreams` are open, and `perUser` of one user. The end of a stream frees its slot.
 * - A user's clock is subscribed exactly while the user has open streams. The subscription precedes
 *   the first read of the clock, so that no change is missed.
 * - One timer serves all streams. An idle stream costs a check every 250 ms and a write every 25 s.
 * - A stream ends when its credential expires, and within 250 ms after this process has received
 *   the revocation of the credential.
 */
export class ChangeStreams {
  readonly ended = Object.fromEntries(endReasons.map((reason) => [reason, 0])) as Record<
    EndReason,
    number
  >;
  private readonly users = new Map<string, Set<ChangeStream>>();
  private count = 0;
  private draining = false;
  /** Number of received revocations at the last check. */
  private checkedRevocations: number;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly maxStreams: number,
    private readonly authenticator: Pick<Authenticator, 'isStillValid' | 'receivedRevocations'>,
    private readonly clockSubscriber: ClockSubscriber,
    private readonly bounds: StreamBounds = defaultBounds,
  ) {
    this.checkedRevocations = authenticator.receivedRevocations;
  }

  get open(): number {
    return this.count;
  }

  /**
   * Opens a stream.
   *
   * @param end the end of the request, which also ends the stream.
   * @param readClock returns the current stamp of the user's clock.
   * @param answer starts the answer.
   * @throws Failure `unavailable` if the gateway stops or has `maxStreams` streams, Redis does not
   *   confirm the subscription, or the stream ended before its start; errors of `readClock`.
   */
  async follow(
    caller: Caller,
    end: RequestEnd,
    readClock: () => Promise<string>,
    answer: () => ServerResponse,
  ): Promise<void> {
    const stream = this.admit(caller);
    end.onReached(() => this.end(stream, 'client'));
    try {
      await this.clockSubscriber.subscribe(caller.userId);
      const stamp = await readClock();
      if (end.reached || !this.isOpen(stream))
        throw unavailable('the stream ended before its start');
      stream.start(answer(), stamp, performance.now());
    } catch (error) {
      this.end(stream, 'failed');
      throw error;
    }
  }

  /** Passes a new stamp of the user's clock to all streams of the user. */
  notify(userId: string, stamp: string): void {
    const now = performance.now();
    for (const stream of this.users.get(userId) ?? []) stream.notify(stamp, now);
  }

  /** Ends all streams after lost notifications. Clients poll when they reconnect. */
  endAfterLoss(): void {
    this.endAll('lost', this.bounds.spreadMs);
  }

  /** Rejects new streams and ends the open ones, spread over `overMs` milliseconds. */
  drain(overMs: number): void {
    this.draining = true;
    this.endAll('drain', overMs);
  }

  /** Rejects new streams and ends the open ones immediately. */
  close(): void {
    this.drain(0);
    this.checkAll();
  }

  private admit(caller: Caller): ChangeStream {
    if (this.draining) throw refusals.draining;
    const own = this.users.get(caller.userId);
    if (own && own.size >= this.bounds.perUser) this.end([...own][0] as ChangeStream, 'replaced');
    if (this.count >= this.maxStreams) throw refusals.full;
    const lifetimeMs = this.bounds.lifetimeMs * (0.9 + Math.random() / 10);
    const expiresMs = (caller.expires ?? Infinity) - Date.now();
    const endsAt = performance.now() + Math.min(lifetimeMs, expiresMs);
    const reason = expiresMs < lifetimeMs ? 'expired' : 'age';
    const stream = new ChangeStream(caller, this.bounds, endsAt, reason);
    const streams = this.users.get(caller.userId) ?? new Set();
    this.users.set(caller.userId, streams.add(stream));
    this.count += 1;
    this.timer ??= setInterval(() => this.checkAll(), this.bounds.checkMs).unref();
    return stream;
  }

  private isOpen(stream: ChangeStream): boolean {
    return this.users.get(stream.caller.userId)?.has(stream) ?? false;
  }

  private end(stream: ChangeStream, reason: EndReason): void {
    const { userId } = stream.caller;
    const own = this.users.get(userId);
    if (!own?.delete(stream)) return;
    if (own.size === 0) {
      this.users.delete(userId);
      this.clockSubscriber.unsubscribe(userId);
    }
    this.ended[reason] += 1;
    this.count -= 1;
    if (this.count === 0) {
      clearInterval(this.timer);
      this.timer = undefined;
    }
    stream.end(reason);
  }

  private endAll(reason: EndReason, overMs: number): void {
    const now = performance.now();
    let place = 0;
    for (const stream of this.all()) {
      const at = now + (overMs * place++) / this.count;
      if (at < stream.endsAt) [stream.endsAt, stream.endsBy] = [at, reason];
    }
  }

  private *all(): Iterable<ChangeStream> {
    for (const streams of this.users.values()) yield* streams;
  }

  /**
   * Sends due stamps and heartbeats. Ends streams whose time has come, whose credential is no
   * longer valid, or whose client does not read.
   */
  private checkAll(): void {
    const now = performance.now();
    const { receivedRevocations } = this.authenticator;
    const hasRevocations = receivedRevocations !== this.checkedRevocations;
    this.checkedRevocations = receivedRevocations;
    for (const stream of this.all()) {
      if (now >= stream.endsAt) this.end(stream, stream.endsBy);
      else {
        // Checks the credential at each heartbeat too, because the issuer can have removed the key
        // that verified a token.
        const sentHeartbeat = stream.sendDue(now);
        if ((sentHeartbeat || hasRevocations) && !this.authenticator.isStillValid(stream.caller))
          this.end(stream, 'revoked');
        else if (sentHeartbeat && stream.isStuck) this.end(stream, 'slow');
      }
    }
  }
}

/** Created once, because creating an error for every refused request would cost too much. */
const refusals = {
  draining: unavailable('the gateway is stopping'),
  full: unavailable('the gateway has too many streams of changes (MAX_STREAMS)'),
};
