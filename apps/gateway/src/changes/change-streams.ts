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
 * - The gateway subscribes to a user's clock exactly while the user has open streams. It subscribes
 *   before it first reads the clock, so that it misses no change.
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
  private readonly streamsByUser = new Map<string, Set<ChangeStream>>();
  private openCount = 0;
  private isDraining = false;
  /** Number of received revocations at the last check. */
  private checkedRevocations: number;
  private checkTimer: NodeJS.Timeout | undefined;

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
   * @param startAnswer sends the headers of the answer.
   * @throws Failure `unavailable` if the gateway stops or has `maxStreams` streams, Redis does not
   *   confirm the subscription, or the stream ended before its start; errors of `readClock`.
   */
  async openStream(
    caller: Caller,
    end: RequestEnd,
    readClock: () => Promise<string>,
    startAnswer: () => ServerResponse,
  ): Promise<void> {
    const stream = this.registerStream(caller);
    end.onReached(() => this.endStream(stream, 'client'));
    try {
      await this.clockSubscriber.subscribe(caller.userId);
      const stamp = await readClock();
      if (end.reached || !this.isOpen(stream))
        throw unavailable('the stream ended before its start');
      stream.start(startAnswer(), stamp, performance.now());
    } catch (error) {
      this.endStream(stream, 'failed');
      throw error;
    }
  }

  /** Gives the new stamp of a user's clock to all streams of that user. */
  notify(userId: string, stamp: string): void {
    const now = performance.now();
    for (const stream of this.streamsByUser.get(userId) ?? []) stream.notify(stamp, now);
  }

  /** Ends streams gradually after lost notifications: clients reconnect and read their lists. */
  endAfterLoss(): void {
    this.endAllStreams('lost', this.bounds.lossSpreadMs);
  }

  /** Rejects new streams and ends the open ones, spread over `overMs` milliseconds. */
  drain(overMs: number): void {
    this.isDraining = true;
    this.endAllStreams('drain', overMs);
  }

  /** Rejects new streams and ends the open ones immediately. */
  close(): void {
    this.drain(0);
    this.checkStreams();
  }

  /**
   * Registers a stream. At `maxPerUser` streams, ends the user's oldest stream.
   *
   * @throws Failure `unavailable` if the gateway stops or has `maxStreams` streams.
   */
  private registerStream(caller: Caller): ChangeStream {
    if (this.isDraining) throw streamRejections.draining;
    const userStreams = this.streamsByUser.get(caller.userId);
    if (userStreams && userStreams.size >= this.bounds.maxPerUser)
      this.endStream([...userStreams][0] as ChangeStream, 'replaced');
    if (this.openCount >= this.maxStreams) throw streamRejections.full;
    const lifetimeMs = this.bounds.lifetimeMs * (0.9 + Math.random() / 10);
    const msUntilExpiry = (caller.expires ?? Infinity) - Date.now();
    const endsAt = performance.now() + Math.min(lifetimeMs, msUntilExpiry);
    const reason = msUntilExpiry < lifetimeMs ? 'expired' : 'age';
    const stream = new ChangeStream(caller, this.bounds, endsAt, reason);
    const streams = this.streamsByUser.get(caller.userId) ?? new Set();
    this.streamsByUser.set(caller.userId, streams.add(stream));
    this.openCount += 1;
    this.checkTimer ??= setInterval(() => this.checkStreams(), this.bounds.checkMs).unref();
    return stream;
  }

  private isOpen(stream: ChangeStream): boolean {
    return this.streamsByUser.get(stream.caller.userId)?.has(stream) ?? false;
  }

  private endStream(stream: ChangeStream, reason: EndReason): void {
    const { userId } = stream.caller;
    const userStreams = this.streamsByUser.get(userId);
    if (!userStreams?.delete(stream)) return;
    if (userStreams.size === 0) {
      this.streamsByUser.delete(userId);
      this.clockSubscriber.unsubscribe(userId);
    }
    this.ended[reason] += 1;
    this.openCount -= 1;
    if (this.openCount === 0) {
      clearInterval(this.checkTimer);
      this.checkTimer = undefined;
    }
    stream.end(reason);
  }

  /** Schedules the end of all streams over `overMs` milliseconds. An earlier end stays. */
  private endAllStreams(reason: EndReason, overMs: number): void {
    const now = performance.now();
    let index = 0;
    for (const stream of this.openStreams()) {
      const endsAt = now + (overMs * index++) / this.openCount;
      if (endsAt < stream.endsAt) [stream.endsAt, stream.endsBy] = [endsAt, reason];
    }
  }

  private *openStreams(): Iterable<ChangeStream> {
    for (const streams of this.streamsByUser.values()) yield* streams;
  }

  /**
   * Sends due stamps and heartbeats. Ends each stream that reached `endsAt`, that has an invalid
   * credential, or whose client does not read.
   */
  private checkStreams(): void {
    const now = performance.now();
    const { receivedRevocations } = this.authenticator;
    const hasNewRevocations = receivedRevocations !== this.checkedRevocations;
    this.checkedRevocations = receivedRevocations;
    for (const stream of this.openStreams()) {
      if (now >= stream.endsAt) this.endStream(stream, stream.endsBy);
      else {
        // Checks the credential at each heartbeat too, because the issuer can have removed the key
        // that verified the token.
        const sentHeartbeat = stream.sendDue(now);
        if ((sentHeartbeat || hasNewRevocations) && !this.authenticator.isStillValid(stream.caller))
          this.endStream(stream, 'revoked');
        else if (sentHeartbeat && stream.isStuck) this.endStream(stream, 'slow');
      }
    }
  }
}

/** Failures for rejected streams, created once, because each creation costs CPU time. */
const streamRejections = {
  draining: unavailable('the gateway is stopping'),
  full: unavailable('the gateway has too many streams of changes (MAX_STREAMS)'),
};
