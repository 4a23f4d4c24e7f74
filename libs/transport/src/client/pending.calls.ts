import { performance } from 'node:perf_hooks';
import type { Result } from '../wire/format.js';

/** How exact timeouts are, in milliseconds. */
const tickMs = 20;

type Settle = (result: Result) => void;

interface PendingCall {
  readonly until: number;
  readonly settle: Settle;
}

/**
 * The calls of one client that wait for a reply.
 *
 * Invariants:
 * - Each is settled exactly once: by its reply, its timeout or a fault, whichever comes first. What comes later finds
 *   nothing and is dropped.
 * - One timer serves them all, and none runs while nothing waits.
 */
export class PendingCalls {
  private readonly calls = new Map<string, PendingCall>();
  private timer?: NodeJS.Timeout;
  private last = 0;

  constructor(
    private readonly timedOut: Result,
    private readonly monotonic: () => number = () => performance.now(),
  ) {}

  get size(): number {
    return this.calls.size;
  }

  /** Waits for a reply for `budgetMs`. @returns the id that the reply has to carry. */
  add(budgetMs: number, settle: Settle): string {
    const id = (this.last += 1).toString(36);
    this.calls.set(id, { until: this.monotonic() + budgetMs, settle });
    this.timer ??= setInterval(() => this.tick(), tickMs);
    return id;
  }

  /** Ends a call. @returns whether anybody still waited. */
  settle(id: string, result: () => Result): boolean {
    const call = this.calls.get(id);
    if (!call) return false;
    this.calls.delete(id);
    call.settle(result());
    return true;
  }

  settleAll(result: Result): void {
    // Calls that are made while these are settled are not among them.
    const ids = [...this.calls.keys()];
    for (const id of ids) this.settle(id, () => result);
    this.tick();
  }

  private tick(): void {
    const now = this.monotonic();
    for (const [id, call] of this.calls) if (call.until <= now) this.settle(id, () => this.timedOut);
    if (this.calls.size > 0) return;
    clearInterval(this.timer);
    this.timer = undefined;
  }
}
