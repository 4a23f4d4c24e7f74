import { unavailable } from '#contracts';
import type { RequestEnd } from './request.end.js';

/**
 * Accounts for bytes that a request makes this process hold.
 *
 * @param always accounts for them even beyond the limits: for bytes that exist already.
 * @throws Failure `unavailable` beyond the limits.
 */
export type Hold = (bytes: number, always?: boolean) => void;

/** Calls of one kind, of which each user may run a few at a time. */
export interface Lane {
  readonly calls: number;
  /** Bytes of the calls that run at the same time; a single call may have more. */
  readonly bytes: number;
}

/** One call of a user. */
export interface LimitedCall {
  /** The key under which {@link UserLimiter.admit} admitted the request. */
  readonly user: string;
  /** Its cost: for a write the bytes of its body, for a read those of the largest answer. */
  readonly bytes: number;
  /** How long its caller waits for the answer, in milliseconds. */
  readonly budgetMs: number;
  /** The end of its request; it cancels a call that waits, and no call that runs. */
  readonly end: RequestEnd;
}

/** A call that waits, and what starts it. */
interface Waiting {
  readonly bytes: number;
  readonly start: () => void;
}

/** A user's calls in one lane: those that run, and those that wait, in their order. */
interface LaneCalls {
  running: number;
  bytes: number;
  readonly waiting: Set<Waiting>;
}

/** A user's requests, the bytes that they hold, and their calls. */
interface User {
  requests: number;
  bytes: number;
  readonly lanes: Map<Lane, LaneCalls>;
}

/**
 * Keeps one user from occupying this process and the services: bounds requests, bytes and calls
 * of each user. A user is a key: the user's id, or a network where nobody is signed in.
 *
 * Invariants:
 * - A user has at most `requests` requests; one more fails before its body is read.
 * - Requests hold bodies that are read, wait or run, and answers that clients read slowly. They
 *   hold at most `bytes` together, a user's a quarter of that, and at most half of what is free
 *   (the dynamic threshold by which network switches share a buffer). So users who need little
 *   always find room.
 * - A request's bytes are released when it ends, however it ends.
 * - In each lane, a user's calls run within the lane's bounds; others start in their order.
 * - The wait counts against a call's budget: no call starts after it.
 * - A call whose request ends stops waiting. Nothing is kept of a user without a request and a
 *   call.
 */
export class UserLimiter {
  private readonly users = new Map<string, User>();
  private held = 0;

  constructor(private readonly limits: { readonly requests: number; readonly bytes: number }) {}

  /** Bytes that the requests of all users hold. */
  get heldBytes(): number {
    return this.held;
  }

  /** Users with requests or calls. */
  get size(): number {
    return this.users.size;
  }

  /**
   * Admits a request of a user until it ends.
   *
   * @throws Failure `unavailable` if the user has too many requests, or this one has ended.
   */
  admit(key: string, end: RequestEnd): Hold {
    if (end.reached) throw failures.callerLeft;
    const user = this.userOf(key);
    if (user.requests >= this.limits.requests) throw failures.requests;
    user.requests += 1;
    let own = 0;
    end.onReached(() => {
      this.held -= own;
      user.bytes -= own;
      user.requests -= 1;
      this.forget(key, user);
    });
    return (bytes, always = false) => {
      if (end.reached) throw failures.callerLeft;
      const allowed = Math.min(this.limits.bytes / 4, (this.limits.bytes - this.held) / 2);
      if (!always && user.bytes + bytes > allowed) throw failures.bytes;
      this.held += bytes;
      user.bytes += bytes;
      own += bytes;
    };
  }

  /**
   * Runs a call as soon as the lane has room next to the user's earlier calls.
   *
   * @param run gets the rest of the budget, in milliseconds.
   * @throws Failure `unavailable` when the budget or the request ends first; errors of `run`.
   */
  async run<Result>(lane: Lane, call: LimitedCall, run: (remainingMs: number) => Promise<Result>): Promise<Result> {
    const until = performance.now() + call.budgetMs;
    const user = this.userOf(call.user);
    const calls = user.lanes.get(lane) ?? { running: 0, bytes: 0, waiting: new Set() };
    user.lanes.set(lane, calls);
    if (calls.waiting.size === 0 && hasRoom(lane, calls, call.bytes)) begin(calls, call.bytes);
    else await wait(lane, calls, call);
    try {
      const remainingMs = until - performance.now();
      // After a long event loop iteration, a call may start before the timer that ends its wait.
      if (remainingMs <= 0) throw failures.tooLate;
      return await run(remainingMs);
    } finally {
      calls.running -= 1;
      calls.bytes -= call.bytes;
      advance(lane, calls);
      if (calls.running === 0) user.lanes.delete(lane);
      this.forget(call.user, user);
    }
  }

  private userOf(key: string): User {
    const user = this.users.get(key) ?? { requests: 0, bytes: 0, lanes: new Map() };
    this.users.set(key, user);
    return user;
  }

  private forget(key: string, user: User): void {
    if (user.requests === 0 && user.lanes.size === 0) this.users.delete(key);
  }
}

function hasRoom(lane: Lane, calls: LaneCalls, bytes: number): boolean {
  return calls.running === 0 || (calls.running < lane.calls && calls.bytes + bytes <= lane.bytes);
}

/** Resolves when the lane has room for the call; it counts as running then. */
async function wait(lane: Lane, calls: LaneCalls, { bytes, budgetMs, end }: LimitedCall): Promise<void> {
  if (end.reached) throw failures.callerLeft;
  await new Promise<void>((resolve, reject) => {
    // Synchronously, so that no call is started that has stopped waiting.
    const leave = (settle: () => void) => {
      calls.waiting.delete(entry);
      unsubscribe();
      clearTimeout(timer);
      settle();
    };
    const giveUp = (failure: Error) =>
      leave(() => {
        reject(failure);
        // Smaller calls behind this one may have waited only because it was too large.
        advance(lane, calls);
      });
    const entry = { bytes, start: () => leave(resolve) };
    const timer = setTimeout(() => giveUp(failures.tooLate), budgetMs);
    const unsubscribe = end.onReached(() => giveUp(failures.callerLeft));
    calls.waiting.add(entry);
  });
}

/** Starts the calls that have waited longest, as many as have room. */
function advance(lane: Lane, calls: LaneCalls): void {
  for (const next of calls.waiting) {
    if (!hasRoom(lane, calls, next.bytes)) return;
    begin(calls, next.bytes);
    next.start();
  }
}

function begin(calls: LaneCalls, bytes: number): void {
  calls.running += 1;
  calls.bytes += bytes;
}

/** Created once, as a refusal has to cost less than the request. */
const failures = {
  requests: unavailable('too many requests of one user'),
  bytes: unavailable('too many bytes are held'),
  callerLeft: unavailable('the caller went away'),
  tooLate: unavailable('earlier calls of the user took all of its time'),
};
