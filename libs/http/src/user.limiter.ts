import { unavailable } from '#contracts';
import type { RequestEnd } from './request.hooks.js';

/**
 * Accounts for bytes that a request makes this process hold; a negative number releases them.
 *
 * @param always counts them even above the limits, because they are already in memory.
 * @throws Failure `unavailable` above the limits.
 */
export type Hold = (bytes: number, always?: boolean) => void;

/** Concurrency limits of each user for one kind of calls, such as reads. */
export interface CallPool {
  readonly calls: number;
  /** Maximum bytes of concurrent calls; a single call can have more. */
  readonly bytes: number;
}

/** One call of a user. */
export interface LimitedCall {
  /** The key under which {@link UserLimiter.admit} admitted the request. */
  readonly user: string;
  /** Bytes to count: of a write those of its body, of a read those of the largest answer. */
  readonly bytes: number;
  /** Maximum time in milliseconds to wait and run. */
  readonly budgetMs: number;
  /** The end of the request. It cancels the call while queued, but not once it runs. */
  readonly end: RequestEnd;
}

/** A queued call with the function that starts it. */
interface QueuedCall {
  readonly bytes: number;
  readonly start: () => void;
}

/** The running and queued calls of a user in one pool; the queue is in order of arrival. */
interface PoolCalls {
  running: number;
  bytes: number;
  readonly waiting: Set<QueuedCall>;
}

/** The body of a request while it arrives. */
export interface PendingBody {
  /** Time of the last received byte (`performance.now()`). */
  readonly lastByteAt: number;
  /** Calls `listener` when the whole body has arrived. */
  onArrived(listener: () => void): void;
  /** Ends the request. */
  drop(): void;
}

/** A user's requests, the bytes that they hold, and their calls. */
interface LimitedUser {
  requests: number;
  bytes: number;
  readonly bodies: Set<PendingBody>;
  readonly pools: Map<CallPool, PoolCalls>;
}

/**
 * Limits the requests, bytes and calls of each user, so that one user cannot occupy this process
 * and the services. The key is a user id, or a network for unauthenticated clients. Invariants:
 * - A user has at most `requests` requests. A further one fails before its body is read.
 * - Unauthenticated clients of a network have at most `requests` incomplete bodies. A further body
 *   ends the request that has sent nothing for the longest time, so stalled uploads never block
 *   other clients. Requests without a body are not counted.
 * - Requests hold bodies, and answers that clients read slowly: together at most `bytes`. A user
 *   holds at most a quarter of that, and at most half of the free bytes, so that some bytes are
 *   always free for other users. (Network switches with a shared buffer use this threshold.)
 * - A request's bytes are released when it ends, in any way.
 * - In each pool, a user's calls run within the pool's limits. Further calls wait, and start in
 *   order of arrival.
 * - Waiting counts against a call's budget. No call starts after its budget ends.
 * - The end of a request removes its queued calls. Users without requests and calls are not stored.
 */
export class UserLimiter {
  private readonly users = new Map<string, LimitedUser>();
  private held = 0;

  constructor(private readonly limits: { readonly requests: number; readonly bytes: number }) {}

  /** Bytes that the requests of all users hold. */
  get heldBytes(): number {
    return this.held;
  }

  get size(): number {
    return this.users.size;
  }

  /**
   * Admits a request of a user until it ends. Returns the function that accounts for its bytes.
   *
   * @throws Failure `unavailable` if the user has too many requests, or the request has ended.
   */
  admit(key: string, end: RequestEnd): Hold {
    if (end.reached) throw failures.disconnected;
    const user = this.userOf(key);
    if (user.requests >= this.limits.requests) throw failures.requests;
    return this.begin(key, user, end);
  }

  /**
   * Admits a request of an unauthenticated client until it ends. Unlike {@link admit} it refuses no
   * request for the number of requests.
   *
   * @param body the body, if it has not arrived.
   * @throws Failure `unavailable` if the request has ended.
   */
  admitOpen(key: string, end: RequestEnd, body?: PendingBody): Hold {
    if (end.reached) throw failures.disconnected;
    const user = this.userOf(key);
    if (body) {
      const { bodies } = user;
      if (bodies.size >= this.limits.requests) {
        const silent = [...bodies].reduce((one, other) =>
          other.lastByteAt < one.lastByteAt ? other : one,
        );
        bodies.delete(silent);
        silent.drop();
      }
      bodies.add(body);
      body.onArrived(() => bodies.delete(body));
      end.onReached(() => bodies.delete(body));
    }
    return this.begin(key, user, end);
  }

  private begin(key: string, user: LimitedUser, end: RequestEnd): Hold {
    user.requests += 1;
    let own = 0;
    end.onReached(() => {
      this.held -= own;
      user.bytes -= own;
      user.requests -= 1;
      this.forget(key, user);
    });
    return (bytes, always = false) => {
      if (end.reached) throw failures.disconnected;
      const allowed = Math.min(this.limits.bytes / 4, (this.limits.bytes - this.held) / 2);
      if (!always && user.bytes + bytes > allowed) throw failures.bytes;
      this.held += bytes;
      user.bytes += bytes;
      own += bytes;
    };
  }

  /**
   * Runs a call as soon as the pool has room for it.
   *
   * @param run the call; its argument is the remaining budget in milliseconds.
   * @throws Failure `unavailable` if the budget or the request ends first; errors of `run`.
   */
  async run<Result>(
    pool: CallPool,
    call: LimitedCall,
    run: (remainingMs: number) => Promise<Result>,
  ): Promise<Result> {
    const until = performance.now() + call.budgetMs;
    const user = this.userOf(call.user);
    const calls = user.pools.get(pool) ?? { running: 0, bytes: 0, waiting: new Set() };
    user.pools.set(pool, calls);
    if (calls.waiting.size === 0 && hasRoom(pool, calls, call.bytes)) begin(calls, call.bytes);
    else await wait(pool, calls, call);
    try {
      const remainingMs = until - performance.now();
      // After a long event loop iteration, a call can start before the timer that ends its wait.
      if (remainingMs <= 0) throw failures.tooLate;
      return await run(remainingMs);
    } finally {
      calls.running -= 1;
      calls.bytes -= call.bytes;
      advance(pool, calls);
      if (calls.running === 0) user.pools.delete(pool);
      this.forget(call.user, user);
    }
  }

  private userOf(key: string): LimitedUser {
    const user = this.users.get(key) ?? {
      requests: 0,
      bytes: 0,
      bodies: new Set(),
      pools: new Map(),
    };
    this.users.set(key, user);
    return user;
  }

  private forget(key: string, user: LimitedUser): void {
    if (user.requests === 0 && user.pools.size === 0) this.users.delete(key);
  }
}

function hasRoom(pool: CallPool, calls: PoolCalls, bytes: number): boolean {
  return calls.running === 0 || (calls.running < pool.calls && calls.bytes + bytes <= pool.bytes);
}

/** Resolves when the pool has room for the call, which then counts as running. */
async function wait(
  pool: CallPool,
  calls: PoolCalls,
  { bytes, budgetMs, end }: LimitedCall,
): Promise<void> {
  if (end.reached) throw failures.disconnected;
  await new Promise<void>((resolve, reject) => {
    // Synchronous, so that no call starts after it left the queue.
    const leave = (settle: () => void) => {
      calls.waiting.delete(entry);
      unsubscribe();
      clearTimeout(timer);
      settle();
    };
    const giveUp = (failure: Error) =>
      leave(() => {
        reject(failure);
        // Smaller calls behind this call can have room now.
        advance(pool, calls);
      });
    const entry = { bytes, start: () => leave(resolve) };
    const timer = setTimeout(() => giveUp(failures.tooLate), budgetMs);
    const unsubscribe = end.onReached(() => giveUp(failures.disconnected));
    calls.waiting.add(entry);
  });
}

function advance(pool: CallPool, calls: PoolCalls): void {
  for (const next of calls.waiting) {
    if (!hasRoom(pool, calls, next.bytes)) return;
    begin(calls, next.bytes);
    next.start();
  }
}

function begin(calls: PoolCalls, bytes: number): void {
  calls.running += 1;
  calls.bytes += bytes;
}

/** Created once, because creating an error for every refused request would cost too much. */
const failures = {
  requests: unavailable('the user has too many running and queued requests'),
  bytes: unavailable('requests hold too many bytes (MAX_HELD_BYTES)'),
  disconnected: unavailable('the client disconnected'),
  tooLate: unavailable('the time limit passed while earlier calls of the user ran'),
};
