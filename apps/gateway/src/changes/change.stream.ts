import type { ServerResponse } from 'node:http';
import type { Caller } from '../auth/authenticator.js';

/** Reasons for the end of a stream. */
export const endReasons = [
  'client',
  'expired',
  'revoked',
  'replaced',
  'age',
  'drain',
  'slow',
  'lost',
  'failed',
] as const;
export type EndReason = (typeof endReasons)[number];

/** Timing of a stream in milliseconds, by `performance.now()`, and its buffer limit. */
export interface StreamTiming {
  /** Interval of heartbeats. */
  readonly heartbeatMs: number;
  /** Minimum time between two notifications; those in between are merged. */
  readonly mergeMs: number;
  /** Maximum unread bytes of a client. */
  readonly maxUnreadBytes: number;
}

/** Initial stamp; every other is greater, also as a string. */
const noStamp = '';

/**
 * One stream of `GET /changes` (docs/reference/interface-opml-changes.md, "Changes"). It sends
 * increasing stamps of the user's clock, and heartbeats. It has no timer; {@link sendDue} must be
 * called often.
 */
export class ChangeStream {
  private response: ServerResponse | undefined;
  private sentStamp = noStamp;
  /** The latest stamp, possibly not sent yet. */
  private latestStamp = noStamp;
  private mergeUntil = 0;
  private heartbeatAt = 0;

  /** @param endsAt latest end, for the reason `endsBy`. */
  constructor(
    readonly caller: Caller,
    private readonly timing: StreamTiming,
    public endsAt: number,
    public endsBy: EndReason,
  ) {}

  /** Stores a new stamp, and sends it immediately unless one was sent within `mergeMs`. */
  notify(stamp: string, now: number): void {
    if (stamp > this.latestStamp) this.latestStamp = stamp;
    if (now >= this.mergeUntil) this.sendStamp(now);
  }

  /** Starts the answer. It first sends this stamp, or a later one that arrived meanwhile. */
  start(response: ServerResponse, stamp: string, now: number): void {
    this.response = response;
    // Random, because thousands of clients may have connected simultaneously.
    this.heartbeatAt = now + Math.random() * this.timing.heartbeatMs;
    this.notify(stamp, now);
  }

  /** Sends a pending stamp or heartbeat if it is due. Returns true after a heartbeat. */
  sendDue(now: number): boolean {
    if (now >= this.mergeUntil) this.sendStamp(now);
    if (now < this.heartbeatAt) return false;
    this.heartbeatAt = now + this.timing.heartbeatMs;
    this.response?.write(':\n\n');
    return true;
  }

  /** True if the client does not read. Checked at heartbeats, as little is sent in between. */
  get isStuck(): boolean {
    return (this.response?.writableLength ?? 0) > this.timing.maxUnreadBytes;
  }

  /** Ends the answer; destroys the connection of a client that does not read. */
  end(reason: EndReason): void {
    if (reason === 'slow') this.response?.destroy();
    else this.response?.end();
  }

  private sendStamp(now: number): void {
    if (!this.response || this.latestStamp <= this.sentStamp) return;
    this.sentStamp = this.latestStamp;
    this.mergeUntil = now + this.timing.mergeMs;
    this.response.write(`event: changed\ndata: ${this.sentStamp}\n\n`);
  }
}
