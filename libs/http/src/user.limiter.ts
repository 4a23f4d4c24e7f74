import { unavailable } from '#contracts';
import type { RequestEnd } from './request.end.js';

/** How many calls of one kind, reads or writes, may run and wait. */
export interface CallLimits {
  /** Calls of one user that run at the same time. */
  readonly running: number;
  /** Bytes of the calls of one user that run at the same time; a single call may have more. */
  readonly runningBytes: number;
  /** Calls of one user that wait. */
  readonly waiting: number;
  /** Calls of all users that wait. */
  readonly waitingInAll: number;
}

/** One call of one user. */
export interface LimitedCall {
  readonly userId: string;
  /** What it costs: for a write the bytes of its body, for a read those of the largest answer that it can have. */
  readonly bytes: number;
  /** How long its caller waits for the answer, in milliseconds. */
  readonly budgetMs: number;
  /** Reached when the client went away. Heeded only while the call waits. */
  readonly end: RequestEnd;
}

/** A call that waits, and what starts it. */
interface Waiting {
  readonly bytes: number;
  readonly start: () => void;
}

/** A user's calls: those that run, and those that wait, in the order in which they came. */
interface UserCalls {
  running: number;
  bytes: number;
  readonly waiting: Set<Waiting>;
}

/**
 * Writes of one user that wait, and reads as many: all that a device has to say at once. A write takes some 10 ms, so the
 * hundredth is still answered long before its deadline.
 */
export const waitingPerUser = 100;

const tooLate = 'earlier calls of the user took all of its time';

/**
 * Keeps one user from occupying the services: writes of one user run one after another in Postgres anyway, and many
 * large pages at a time would take what others need. There is one for reads and one for writes.
 *
 * Invariants:
 * - at most `running` calls of one user, with at most `runningBytes`, run at the same time; others start in their
 *   order;
 * - at most `waiting` of one user wait, and `waitingInAll` of all; one more is refused at once;
 * - the wait counts against the budget: no call starts after it, and one that runs gets what is left of it;
 * - a call whose client goes away stops waiting; nothing is kept of a user without a call.
 */
export class UserLimiter {
  private readonly calls = new Map<string, UserCalls>();
  private waitingInAll = 0;

  constructor(private readonly limits: CallLimits) {}

  /** Users with calls. */
  get users(): number {
    return this.calls.size;
  }

  /** Calls that wait. */
  get waiting(): number {
    return this.waitingInAll;
  }

  /**
   * Runs a call as soon as the limits allow it beside the user's earlier ones.
   *
   * @param run gets what is left of the budget, in milliseconds.
   * @throws Failure `unavailable` when too many wait, the budget ends or the client goes away; what `run` throws.
   */
  async run<Result>(call: LimitedCall, run: (remainingMs: number) => Promise<Result>): Promise<Result> {
    const until = performance.now() + call.budgetMs;
    const calls = this.callsOf(call.userId);
    if (calls.waiting.size === 0 && this.mayRun(calls, call.bytes)) begin(calls, call.bytes);
    else await this.wait(calls, call);
    try {
      const remainingMs = until - performance.now();
      // In a process that was held up, the call may start before the timer that should have ended its wait.
      if (remainingMs <= 0) throw unavailable(tooLate);
      return await run(remainingMs);
    } finally {
      calls.running -= 1;
      calls.bytes -= call.bytes;
      this.advance(calls);
      if (calls.running === 0) this.calls.delete(call.userId);
    }
  }

  private callsOf(userId: string): UserCalls {
    const calls = this.calls.get(userId) ?? { running: 0, bytes: 0, waiting: new Set() };
    this.calls.set(userId, calls);
    return calls;
  }

  private mayRun(calls: UserCalls, bytes: number): boolean {
    const { running, runningBytes } = this.limits;
    return calls.running === 0 || (calls.running < running && calls.bytes + bytes <= runningBytes);
  }

  /** Resolves when the limits allow the call to run; it counts as running then. */
  private async wait(calls: UserCalls, { bytes, budgetMs, end }: LimitedCall): Promise<void> {
    const { waiting, waitingInAll } = this.limits;
    if (calls.waiting.size >= waiting || this.waitingInAll >= waitingInAll) throw unavailable('too many calls wait');
    if (end.reached) throw unavailable('the caller went away');
    this.waitingInAll += 1;
    await new Promise<void>((resolve, reject) => {
      // Synchronously, so that no call is started that has stopped waiting.
      const leave = (settle: () => void) => {
        this.waitingInAll -= 1;
        calls.waiting.delete(entry);
        stay();
        clearTimeout(timer);
        settle();
      };
      const giveUp = (reason: string) =>
        leave(() => {
          reject(unavailable(reason));
          // Smaller calls behind this one may have waited only because it was too large.
          this.advance(calls);
        });
      const entry = { bytes, start: () => leave(resolve) };
      const timer = setTimeout(() => giveUp(tooLate), budgetMs);
      const stay = end.onReached(() => giveUp('the caller went away'));
      calls.waiting.add(entry);
    });
  }

  /** Starts those that have waited longest, as many as the limits allow. */
  private advance(calls: UserCalls): void {
    for (const next of calls.waiting) {
      if (!this.mayRun(calls, next.bytes)) return;
      begin(calls, next.bytes);
      next.start();
    }
  }
}

function begin(calls: UserCalls, bytes: number): void {
  calls.running += 1;
  calls.bytes += bytes;
}
