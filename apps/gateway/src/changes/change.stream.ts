import type { ServerResponse } from 'node:http';
import type { Caller } from '../auth/authenticator.js';

/**
 * Reasons for the end of a stream: the `client` disconnected; its credential `expired` or was
 * `revoked`; a newer stream of the user `replaced` it; it reached its maximum `age`; the process
 * stops (`drain`); the client reads too slowly (`slow`); notifications were `lost`; its start
 * `failed`.
 */
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

/** Timing of a stream in milliseconds, and its buffer limit. */
export interface StreamTiming {
  /** Interval of heartbeats. */
  readonly heartbeatMs: number;
  /** Minimum time between two `changed` events; later stamps wait for the next event. */
  readonly mergeMs: number;
  /** Maximum bytes that are buffered for a client that does not read. */
  readonly maxUnreadBytes: number;
}

/** Placeholder before the first stamp; compared as strings, every stamp is greater. */
const noStamp = '';

/**
 * One stream of `GET /changes` (docs/reference/interface-opml-changes.md, "Changes"). It sends
 * increasing stamps of the user's clock, and heartbeats. It has no timer: its owner calls {@link
 * sendDue} at a short interval. All times are by `performance.now()`.
 */
export class ChangeStream {
  private response: ServerResponse | undefined;
  private sentStamp = noStamp;
  /** The latest stamp, possibly not sent yet. */
  private latestStamp = noStamp;
  private mergeUntil = 0;
  private heartbeatAt = 0;

  /** @param endsAt latest time of the end. @param endsBy the reason for an end at that time. */
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

  /** True if more than `maxUnreadBytes` wait for the client. Checked only at heartbeats. */
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
