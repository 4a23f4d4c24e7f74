import type { ServerResponse } from 'node:http';
import type { Caller } from '../auth/authenticator.js';

/** Reasons for the end of a stream. */
export const endings = [
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
export type Ending = (typeof endings)[number];

/** Timing of a stream in milliseconds, by `performance.now()`, and its buffer limit. */
export interface StreamPace {
  /** Interval of heartbeats. */
  readonly beatMs: number;
  /** Minimum time between two notifications; those in between are merged. */
  readonly joinMs: number;
  /** Maximum unread bytes of a client. */
  readonly waitingBytes: number;
}

/** Initial stamp; every other is greater, also as a string. */
const nothing = '';

/**
 * One stream of `GET /changes` (docs/reference/interface-opml-changes.md, "Changes"). It sends
 * increasing stamps of the user's clock, and heartbeats. It has no timer; {@link turn} must be
 * called often.
 */
export class ChangeStream {
  private response: ServerResponse | undefined;
  private told = nothing;
  /** The latest stamp that was not sent yet. */
  private waiting = nothing;
  private joinUntil = 0;
  private beatAt = 0;

  /** @param endsAt latest end, for the reason `endsBy`. */
  constructor(
    readonly caller: Caller,
    private readonly pace: StreamPace,
    public endsAt: number,
    public endsBy: Ending,
  ) {}

  get hasBegun(): boolean {
    return this.response !== undefined;
  }

  /** Stores a new stamp, and sends it immediately unless one was sent within `joinMs`. */
  hint(stamp: string, now: number): void {
    if (stamp > this.waiting) this.waiting = stamp;
    if (now >= this.joinUntil) this.tell(now);
  }

  /** Starts the answer. It first sends this stamp, or a later one that arrived meanwhile. */
  begin(response: ServerResponse, stamp: string, now: number): void {
    this.response = response;
    // Random, because thousands of clients may have connected simultaneously.
    this.beatAt = now + Math.random() * this.pace.beatMs;
    this.hint(stamp, now);
  }

  /** Sends a pending stamp or heartbeat if it is due. Returns true after a heartbeat. */
  turn(now: number): boolean {
    if (now >= this.joinUntil) this.tell(now);
    if (now < this.beatAt) return false;
    this.beatAt = now + this.pace.beatMs;
    this.response?.write(':\n\n');
    return true;
  }

  /** True if the client does not read. Checked at heartbeats, as little is sent in between. */
  get isStuck(): boolean {
    return (this.response?.writableLength ?? 0) > this.pace.waitingBytes;
  }

  /** Ends the answer; destroys the connection of a client that does not read. */
  end(ending: Ending): void {
    if (ending === 'slow') this.response?.destroy();
    else this.response?.end();
  }

  private tell(now: number): void {
    if (!this.response || this.waiting <= this.told) return;
    this.told = this.waiting;
    this.joinUntil = now + this.pace.joinMs;
    this.response.write(`event: changed\ndata: ${this.told}\n\n`);
  }
}
