import type { ServerResponse } from 'node:http';
import type { Caller } from '../auth/authenticator.js';

/** Why a stream ended. */
export const endings = ['client', 'expired', 'revoked', 'replaced', 'age', 'drain', 'slow', 'lost', 'failed'] as const;
export type Ending = (typeof endings)[number];

/** How a stream goes, in milliseconds by `performance.now()`. */
export interface StreamPace {
  /** Between two signs of life. */
  readonly beatMs: number;
  /** Between two hints; what comes meanwhile is joined to one. */
  readonly joinMs: number;
  /** Bytes that may wait for a client to read them. */
  readonly waitingBytes: number;
}

/** The stamp that stands for a client who has heard of nothing yet; every other is greater, also as a text. */
const nothing = '';

/**
 * One stream of `GET /changes` (docs/reference/interface-opml-changes.md, "Changes"). It tells stamps of the user's
 * clock, each greater than the one before, and that it is alive. It knows no timer: {@link turn} is to be called often.
 */
export class ChangeStream {
  private response: ServerResponse | undefined;
  private told = nothing;
  /** The latest stamp that was not told yet. */
  private waiting = nothing;
  private joinUntil = 0;
  private beatAt = 0;

  /** @param endsAt when it ends at the latest, and why then. */
  constructor(
    readonly caller: Caller,
    private readonly pace: StreamPace,
    public endsAt: number,
    public endsBy: Ending,
  ) {}

  /** Whether it has been answered. */
  get hasBegun(): boolean {
    return this.response !== undefined;
  }

  /** Takes note of where the clock is; tells it at once where nothing was told just now. */
  hint(stamp: string, now: number): void {
    if (stamp > this.waiting) this.waiting = stamp;
    if (now >= this.joinUntil) this.tell(now);
  }

  /** Begins to answer. What it tells first is this stamp, or a later one that was hinted at meanwhile. */
  begin(response: ServerResponse, stamp: string, now: number): void {
    this.response = response;
    // At a time of its own, as thousands may have come together.
    this.beatAt = now + Math.random() * this.pace.beatMs;
    this.hint(stamp, now);
  }

  /** Does what is due: tells what waits, or gives a sign of life. @returns whether it gave one. */
  turn(now: number): boolean {
    if (now >= this.joinUntil) this.tell(now);
    if (now < this.beatAt) return false;
    this.beatAt = now + this.pace.beatMs;
    this.response?.write(':\n\n');
    return true;
  }

  /** Whether its client does not read. To be asked with a sign of life: until the next one not much can come. */
  get isStuck(): boolean {
    return (this.response?.writableLength ?? 0) > this.pace.waitingBytes;
  }

  /** Ends the answer: in order, or by closing the connection where nobody reads it. */
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
