import { withTimeLimit } from '#runtime';
import { rootCauseOf } from './fault-rule.js';

/** Time limit of a poll in milliseconds. */
const pollLimitMs = 2_000;

/** Minimum pause between a failed poll and the next one, in ms. Up to 50 % is added at random. */
const pauseMs = 1_000;

/**
 * Detects outages: Postgres is available if it answers and has all migrations of this build.
 * - While Postgres is available, it is not polled. After a failed statement ({@link suspect}) one
 *   poll decides, because a single lost connection is not an outage.
 * - A poll that fails while statements use every connection changes nothing, because it waited for
 *   a connection. If Postgres hangs, these statements time out, and their errors start a new poll.
 * - While Postgres is unavailable, it is polled every 1 to 1.5 s, one poll at a time.
 * - Listeners are notified when availability changes, in the order of their registration.
 */
export class Availability {
  private lastProblems: readonly string[] = [];
  private readonly listeners: ((isAvailable: boolean) => void)[] = [];
  private runningPoll: Promise<readonly string[]> | undefined;
  private pollTimer: NodeJS.Timeout | undefined;
  private isClosed = false;

  /**
   * @param findMissingMigrations returns the missing migrations; rejects if Postgres can't answer.
   * @param isPoolBusy returns true if statements use every connection of the pool.
   */
  constructor(
    private readonly findMissingMigrations: () => Promise<readonly string[]>,
    private readonly isPoolBusy: () => boolean,
  ) {}

  /**
   * The reasons why Postgres is unavailable, as texts for an operator: an error or the missing
   * migrations. Empty if Postgres is available.
   */
  get problems(): readonly string[] {
    return this.lastProblems;
  }

  get isAvailable(): boolean {
    return this.lastProblems.length === 0;
  }

  /**
   * Registers a listener. It is called with the new value at each change, but not at its
   * registration.
   */
  onChange(listener: (isAvailable: boolean) => void): void {
    this.listeners.push(listener);
  }

  /**
   * Polls Postgres, unless it is already unavailable. Callers use this method after an error that
   * an outage can cause.
   */
  suspect(): void {
    if (this.isAvailable && !this.isClosed) void this.check();
  }

  /** Polls now, or joins the running poll. Resolves to {@link problems}; never rejects. */
  check(): Promise<readonly string[]> {
    this.runningPoll ??= this.poll().finally(() => (this.runningPoll = undefined));
    return this.runningPoll;
  }

  close(): void {
    this.isClosed = true;
    clearTimeout(this.pollTimer);
  }

  private async poll(): Promise<readonly string[]> {
    const problems = await this.findProblems();
    if (this.isClosed) return this.lastProblems;
    const wasAvailable = this.isAvailable;
    this.lastProblems = problems;
    clearTimeout(this.pollTimer);
    if (!this.isAvailable)
      this.pollTimer = setTimeout(() => void this.check(), pauseMs * (1 + Math.random() / 2));
    if (wasAvailable !== this.isAvailable)
      for (const listener of this.listeners) listener(this.isAvailable);
    return problems;
  }

  private async findProblems(): Promise<readonly string[]> {
    try {
      return await withTimeLimit(this.findMissingMigrations(), pollLimitMs);
    } catch (error) {
      if (this.isPoolBusy()) return this.lastProblems;
      return [`Postgres: ${rootCauseOf(error)}`];
    }
  }
}
