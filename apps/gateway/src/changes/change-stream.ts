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

/** Intervals of a stream in milliseconds, and its buffer limit. */
export interface StreamTiming {
  readonly heartbeatMs: number;
  /** Minimum time between two `changed` events. Only the latest stamp of this time is sent. */
  readonly mergeMs: number;
  /**
   * Maximum bytes that are buffered for a client that does not read. If more are buffered at a
   * heartbeat, the stream ends.
   */
  readonly maxUnreadBytes: number;
}

/** Initial value of a stamp. Stamps are compared as strings, so every stamp is greater. */
const noStamp = '';

/**
 * One stream of `GET /changes` (docs/reference/interface-opml-changes.md, "Changes"). It sends
 * increasing stamps of the user's clock, and heartbeats. It has no timer: `ChangeStreams`
 * calls {@link sendDue} at a short interval. All times are by `performance.now()`.
 */
export class ChangeStream {
  private response: ServerResponse | undefined;
  private sentStamp = noStamp;
  /** The latest stamp, possibly not sent yet. */
  private latestStamp = noStamp;
  private nextStampAt = 0;
  private nextHeartbeatAt = 0;

  /** @param endsAt time at which the stream must end. @param endsBy the reason for that end. */
  constructor(
    readonly caller: Caller,
    private readonly timing: StreamTiming,
    public endsAt: number,
    public endsBy: EndReason,
  ) {}

  /**
   * Stores a new stamp, and sends it immediately unless the stream sent another stamp within the
   * last `mergeMs`. In that case {@link sendDue} sends the latest stamp.
   */
  notify(stamp: string, now: number): void {
    if (stamp > this.latestStamp) this.latestStamp = stamp;
    if (now >= this.nextStampAt) this.sendStamp(now);
  }

  /** Starts the stream. Sends `stamp`, or a later stamp that {@link notify} has stored. */
  start(response: ServerResponse, stamp: string, now: number): void {
    this.response = response;
    // Chooses a random time, because thousands of clients can have connected simultaneously.
    this.nextHeartbeatAt = now + Math.random() * this.timing.heartbeatMs;
    this.notify(stamp, now);
  }

  /** Sends a stamp and a heartbeat, each if it is due. @returns true if it sent a heartbeat. */
  sendDue(now: number): boolean {
    if (now >= this.nextStampAt) this.sendStamp(now);
    if (now < this.nextHeartbeatAt) return false;
    this.nextHeartbeatAt = now + this.timing.heartbeatMs;
    this.response?.write(':\n\n');
    return true;
  }

  /** True if more than `maxUnreadBytes` wait for the client. Checked only at heartbeats. */
  get isStuck(): boolean {
    return (this.response?.writableLength ?? 0) > this.timing.maxUnreadBytes;
  }

  /** Ends the answer. For the reason `slow`, destroys the connection instead. */
  end(reason: EndReason): void {
    if (reason === 'slow') this.response?.destroy();
    else this.response?.end();
  }

  /** Sends the latest stamp, unless the client already has it. */
  private sendStamp(now: number): void {
    if (!this.response || this.latestStamp <= this.sentStamp) return;
    this.sentStamp = this.latestStamp;
    this.nextStampAt = now + this.timing.mergeMs;
    this.response.write(`event: changed\ndata: ${this.sentStamp}\n\n`);
  }
}
