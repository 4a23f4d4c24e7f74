import { unavailable } from '#contracts';
import type { RequestEnd } from '#http';
import type { ServerResponse } from 'node:http';
import type { Authenticator, Caller } from '../auth/authenticator.js';
import { ChangeStream, type EndReason, endReasons, type StreamTiming } from './change-stream.js';

/** Limits and intervals of streams. Only tests override the defaults. */
export interface StreamBounds extends StreamTiming {
  /** Maximum open streams of one user. Another stream ends the oldest. */
  readonly maxPerUser: number;
  /** Maximum lifetime in milliseconds. Each stream ends at a random time in its last tenth. */
  readonly lifetimeMs: number;
  /** Time in ms over which streams end after lost notifications, so clients return gradually. */
  readonly lossSpreadMs: number;
  /** Interval of checks of all streams, in milliseconds. */
  readonly checkMs: number;
}

/** The limits and intervals in production. */
export const defaultBounds: StreamBounds = {
  maxPerUser: 6,
  heartbeatMs: 25_000,
  mergeMs: 250,
  maxUnreadBytes: 4_096,
  lifetimeMs: 3_600_000,
  lossSpreadMs: 30_000,
  checkMs: 250,
};

/** Subscribes to notifications about users' clocks. */
export interface ClockSubscriber {
  subscribe(userId: string): Promise<void>;
  unsubscribe(userId: string): void;
}

/**
 * The streams of changes of a gateway (ADR 26). Invariants:
 * - At most `maxStreams` are open, and `maxPerUser` of one user.
 * - A user's clock is subscribed exactly while the user has open streams. The subscription precedes
 *   the first read of the clock, so that no change is missed.
 * - One timer serves all streams. An idle stream costs a check every 250 ms and a write every 25 s.
 * - A stream ends when its credential expires, and within 250 ms after this process has received
 *   the revocation of the credential.
 */
export class ChangeStreams {
  /** Number of streams that have ended, by reason. */
  readonly ended = Object.fromEntries(endReasons.map((reason) => [reason, 0])) as Record<
    EndReason,
    number
  >;
  /** Open streams by user id; the oldest of a user is the first. */
  private readonly users = new Map<string, Set<ChangeStream>>();
  private openCount = 0;
  private isDraining = false;
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

  /** Number of open streams. */
  get open(): number {
    return this.openCount;
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
  async openStream(
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

  /** Gives the new stamp of a user's clock to all streams of that user. */
  notify(userId: string, stamp: string): void {
    const now = performance.now();
    for (const stream of this.users.get(userId) ?? []) stream.notify(stamp, now);
  }

  /** Ends streams gradually after lost notifications: clients reconnect and read their lists. */
  endAfterLoss(): void {
    this.endAll('lost', this.bounds.lossSpreadMs);
  }

  /** Rejects new streams and ends the open ones, spread over `overMs` milliseconds. */
  drain(overMs: number): void {
    this.isDraining = true;
    this.endAll('drain', overMs);
  }

  /** Rejects new streams and ends the open ones immediately. */
  close(): void {
    this.drain(0);
    this.checkAll();
  }

  /** Registers a stream. @throws Failure `unavailable` if no stream can be opened. */
  private admit(caller: Caller): ChangeStream {
    if (this.isDraining) throw rejections.draining;
    const own = this.users.get(caller.userId);
    if (own && own.size >= this.bounds.maxPerUser)
      this.end([...own][0] as ChangeStream, 'replaced');
    if (this.openCount >= this.maxStreams) throw rejections.full;
    const lifetimeMs = this.bounds.lifetimeMs * (0.9 + Math.random() / 10);
    const expiresMs = (caller.expires ?? Infinity) - Date.now();
    const endsAt = performance.now() + Math.min(lifetimeMs, expiresMs);
    const reason = expiresMs < lifetimeMs ? 'expired' : 'age';
    const stream = new ChangeStream(caller, this.bounds, endsAt, reason);
    const streams = this.users.get(caller.userId) ?? new Set();
    this.users.set(caller.userId, streams.add(stream));
    this.openCount += 1;
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
    this.openCount -= 1;
    if (this.openCount === 0) {
      clearInterval(this.timer);
      this.timer = undefined;
    }
    stream.end(reason);
  }

  /** Schedules the end of all streams, spread over `overMs` milliseconds. */
  private endAll(reason: EndReason, overMs: number): void {
    const now = performance.now();
    let index = 0;
    for (const stream of this.all()) {
      const at = now + (overMs * index++) / this.openCount;
      if (at < stream.endsAt) [stream.endsAt, stream.endsBy] = [at, reason];
    }
  }

  private *all(): Iterable<ChangeStream> {
    for (const streams of this.users.values()) yield* streams;
  }

  /**
   * Sends due stamps and heartbeats. Ends streams that reached `endsAt`, whose credential is
   * no longer valid, or whose client does not read.
   */
  private checkAll(): void {
    const now = performance.now();
    const { receivedRevocations } = this.authenticator;
    const hasNewRevocations = receivedRevocations !== this.checkedRevocations;
    this.checkedRevocations = receivedRevocations;
    for (const stream of this.all()) {
      if (now >= stream.endsAt) this.end(stream, stream.endsBy);
      else {
        // Checks the credential at each heartbeat too: the issuer can have removed the key that
        // verified the token.
        const sentHeartbeat = stream.sendDue(now);
        if ((sentHeartbeat || hasNewRevocations) && !this.authenticator.isStillValid(stream.caller))
          this.end(stream, 'revoked');
        else if (sentHeartbeat && stream.isStuck) this.end(stream, 'slow');
      }
    }
  }
}

/** Failures for rejected streams, created once: an error per rejected request would cost CPU. */
const rejections = {
  draining: unavailable('the gateway is stopping'),
  full: unavailable('the gateway has too many streams of changes (MAX_STREAMS)'),
};
