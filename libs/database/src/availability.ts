import { withTimeLimit } from '#runtime';
import { rootCauseOf } from './fault.rule.js';

/** How long Postgres may take to answer a poll, in milliseconds. */
const pollLimitMs = 2_000;

/** The least pause between two polls while Postgres is away, in milliseconds; at random up to half as much again. */
const pauseMs = 1_000;

/**
 * A failure detector for Postgres: whether it answers this process and has every migration that this build knows.
 *
 * Invariants:
 * - While it is available nothing is polled. A statement that fails as if it were not ({@link suspect}) causes one
 *   poll, which decides: one lost connection of many is no outage.
 * - While it is away it is polled about once a second until it is available again.
 * - There is one poll at a time. Listeners are notified of changes only, in the order of the changes.
 */
export class Availability {
  private lacking: readonly string[] = [];
  private readonly listeners: ((isAvailable: boolean) => void)[] = [];
  private polling: Promise<readonly string[]> | undefined;
  private timer: NodeJS.Timeout | undefined;
  private isClosed = false;

  /** @param findMissing the migrations that are missing; rejects when Postgres can't answer. */
  constructor(private readonly findMissing: () => Promise<readonly string[]>) {}

  /** What was missing at the last poll, as texts for an operator; empty when available. */
  get missing(): readonly string[] {
    return this.lacking;
  }

  get isAvailable(): boolean {
    return this.lacking.length === 0;
  }

  /** Notifies a listener of each change from here on. */
  onChange(listener: (isAvailable: boolean) => void): void {
    this.listeners.push(listener);
  }

  /** To be called when a statement failed as it would where Postgres is away or not migrated. */
  suspect(): void {
    if (this.isAvailable && !this.isClosed) void this.check();
  }

  /** Polls now, or joins the poll that is under way. Resolves to {@link missing} and never rejects. */
  check(): Promise<readonly string[]> {
    this.polling ??= this.poll().finally(() => (this.polling = undefined));
    return this.polling;
  }

  /** Resolves when Postgres is available; polls for as long as that takes. */
  async whenAvailable(): Promise<void> {
    const available = new Promise<void>((resolve) => this.onChange((isAvailable) => isAvailable && resolve()));
    if ((await this.check()).length > 0) await available;
  }

  /** Ends polling. */
  close(): void {
    this.isClosed = true;
    clearTimeout(this.timer);
  }

  private async poll(): Promise<readonly string[]> {
    const found = await this.findMissingInTime();
    if (this.isClosed) return this.lacking;
    const wasAvailable = this.isAvailable;
    this.lacking = found;
    clearTimeout(this.timer);
    if (!this.isAvailable) this.timer = setTimeout(() => void this.check(), pauseMs * (1 + Math.random() / 2));
    if (wasAvailable !== this.isAvailable) for (const notify of this.listeners) notify(this.isAvailable);
    return found;
  }

  private async findMissingInTime(): Promise<readonly string[]> {
    try {
      return await withTimeLimit(this.findMissing(), pollLimitMs);
    } catch (error) {
      return [`Postgres: ${rootCauseOf(error)}`];
    }
  }
}
