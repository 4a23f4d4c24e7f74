import { unavailable } from '#contracts';
import type { RequestEnd } from './request-hooks.js';

/**
 * Counts bytes that a request keeps in memory. A negative number releases bytes.
 *
 * @param always true to count them even above the limits, because they are already in memory.
 * @throws Failure `unavailable` above the limits.
 */
export type HoldBytes = (bytes: number, always?: boolean) => void;

/** Limits of each user's concurrent calls of one kind, such as reads. */
export interface CallPool {
  /** Maximum concurrent calls of a user. */
  readonly calls: number;
  /** Maximum bytes of a user's concurrent calls; a single call can have more. */
  readonly bytes: number;
}

/** A call that waits until the pool of its user has room. */
export interface LimitedCall {
  /** The key under which {@link UserLimiter.admit} admitted the request. */
  readonly user: string;
  /** Bytes of the call: of a write those of its body, of a read those of its largest answer. */
  readonly bytes: number;
  /** Maximum time of the call in milliseconds, including its wait. */
  readonly timeLimitMs: number;
  /** End of the request. It cancels a queued call, but not a running one. */
  readonly end: RequestEnd;
}

/** A queued call, and the function that starts it. */
interface QueuedCall {
  readonly bytes: number;
  readonly start: () => void;
}

/** A user's running and queued calls in one pool; `waiting` is in order of arrival. */
interface PoolCalls {
  running: number;
  bytes: number;
  readonly waiting: Set<QueuedCall>;
}

/** A body that has not arrived completely. */
export interface PendingBody {
  /** Time of the last received byte (`performance.now()`). */
  readonly lastByteAt: number;
  /** Calls `listener` when the whole body has arrived. */
  onArrived(listener: () => void): void;
  /** Ends the request, because its body is too slow or there are too many bodies. */
  drop(): void;
}

/** Open requests of a user, the bytes that they keep in memory, and their calls. */
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
 * - Bodies, and answers that clients read slowly, have together at most `bytes`. Those of one user
 *   have at most a quarter of that, and at most half of the free bytes, so that some bytes are
 *   always free for other users. (Network switches with a shared buffer use this threshold.)
 * - A request's bytes are released when it ends, in any way.
 * - In each pool, a user's calls run within the pool's limits. Further calls wait, and start in
 *   order of arrival.
 * - The time limit of a call includes its wait. No call starts after its time limit.
 * - The end of a request removes its queued calls. Users without requests and calls are not stored.
 */
export class UserLimiter {
  private readonly users = new Map<string, LimitedUser>();
  private totalBytes = 0;

  constructor(private readonly limits: { readonly requests: number; readonly bytes: number }) {}

  /** Bytes that the requests of all users keep in memory. */
  get heldBytes(): number {
    return this.totalBytes;
  }

  /** Number of users with requests or calls. */
  get size(): number {
    return this.users.size;
  }

  /**
   * Admits a request of a user until it ends. Returns the function that counts its bytes.
   *
   * @throws Failure `unavailable` if the user has too many requests, or the request has ended.
   */
  admit(key: string, end: RequestEnd): HoldBytes {
    if (end.reached) throw failures.disconnected;
    const user = this.getOrAddUser(key);
    if (user.requests >= this.limits.requests) throw failures.requests;
    return this.addRequest(key, user, end);
  }

  /**
   * Admits a request of an unauthenticated client until it ends. Unlike {@link admit} it does not
   * limit the number of requests.
   *
   * @param body the body, if it has not arrived.
   * @throws Failure `unavailable` if the request has ended.
   */
  admitOpen(key: string, end: RequestEnd, body?: PendingBody): HoldBytes {
    if (end.reached) throw failures.disconnected;
    const user = this.getOrAddUser(key);
    if (body) {
      const { bodies } = user;
      if (bodies.size >= this.limits.requests) {
        const stalledBody = [...bodies].reduce((one, other) =>
          other.lastByteAt < one.lastByteAt ? other : one,
        );
        bodies.delete(stalledBody);
        stalledBody.drop();
      }
      bodies.add(body);
      body.onArrived(() => bodies.delete(body));
      end.onReached(() => bodies.delete(body));
    }
    return this.addRequest(key, user, end);
  }

  private addRequest(key: string, user: LimitedUser, end: RequestEnd): HoldBytes {
    user.requests += 1;
    let requestBytes = 0;
    end.onReached(() => {
      this.totalBytes -= requestBytes;
      user.bytes -= requestBytes;
      user.requests -= 1;
      this.removeIfUnused(key, user);
    });
    return (bytes, always = false) => {
      if (end.reached) throw failures.disconnected;
      const allowedBytes = Math.min(
        this.limits.bytes / 4,
        (this.limits.bytes - this.totalBytes) / 2,
      );
      if (!always && user.bytes + bytes > allowedBytes) throw failures.bytes;
      this.totalBytes += bytes;
      user.bytes += bytes;
      requestBytes += bytes;
    };
  }

  /**
   * Runs a call as soon as the pool has room for it.
   *
   * @param run makes the call; its argument is the remaining time in milliseconds.
   * @throws Failure `unavailable` if the time limit or the request ends first; errors of `run`.
   */
  async run<Result>(
    pool: CallPool,
    call: LimitedCall,
    run: (remainingMs: number) => Promise<Result>,
  ): Promise<Result> {
    const deadline = performance.now() + call.timeLimitMs;
    const user = this.getOrAddUser(call.user);
    const calls = user.pools.get(pool) ?? { running: 0, bytes: 0, waiting: new Set() };
    user.pools.set(pool, calls);
    if (calls.waiting.size === 0 && hasRoom(pool, calls, call.bytes)) addRunning(calls, call.bytes);
    else await waitForRoom(pool, calls, call);
    try {
      const remainingMs = deadline - performance.now();
      // Checks again, because a call can start before its timer runs in a busy event loop.
      if (remainingMs <= 0) throw failures.tooLate;
      return await run(remainingMs);
    } finally {
      calls.running -= 1;
      calls.bytes -= call.bytes;
      startQueued(pool, calls);
      if (calls.running === 0) user.pools.delete(pool);
      this.removeIfUnused(call.user, user);
    }
  }

  private getOrAddUser(key: string): LimitedUser {
    const user = this.users.get(key) ?? {
      requests: 0,
      bytes: 0,
      bodies: new Set(),
      pools: new Map(),
    };
    this.users.set(key, user);
    return user;
  }

  private removeIfUnused(key: string, user: LimitedUser): void {
    if (user.requests === 0 && user.pools.size === 0) this.users.delete(key);
  }
}

function hasRoom(pool: CallPool, calls: PoolCalls, bytes: number): boolean {
  return calls.running === 0 || (calls.running < pool.calls && calls.bytes + bytes <= pool.bytes);
}

/** Resolves when the pool has room for a queued call, which then counts as running. */
async function waitForRoom(
  pool: CallPool,
  calls: PoolCalls,
  { bytes, timeLimitMs, end }: LimitedCall,
): Promise<void> {
  if (end.reached) throw failures.disconnected;
  await new Promise<void>((resolve, reject) => {
    // Runs synchronously, so that no call starts after it has left the queue.
    const leaveQueue = (settle: () => void) => {
      calls.waiting.delete(queuedCall);
      unsubscribe();
      clearTimeout(timer);
      settle();
    };
    const giveUp = (failure: Error) =>
      leaveQueue(() => {
        reject(failure);
        // Starts queued calls behind this one, because there can be room for a smaller call.
        startQueued(pool, calls);
      });
    const queuedCall = { bytes, start: () => leaveQueue(resolve) };
    const timer = setTimeout(() => giveUp(failures.tooLate), timeLimitMs);
    const unsubscribe = end.onReached(() => giveUp(failures.disconnected));
    calls.waiting.add(queuedCall);
  });
}

/** Starts queued calls in order, as long as there is room. */
function startQueued(pool: CallPool, calls: PoolCalls): void {
  for (const next of calls.waiting) {
    if (!hasRoom(pool, calls, next.bytes)) return;
    addRunning(calls, next.bytes);
    next.start();
  }
}

function addRunning(calls: PoolCalls, bytes: number): void {
  calls.running += 1;
  calls.bytes += bytes;
}

/** Failures for rejected requests, created once, as an error per request would cost CPU time. */
const failures = {
  requests: unavailable('the user has too many running and queued requests'),
  bytes: unavailable('requests hold too many bytes (MAX_HELD_BYTES)'),
  disconnected: unavailable('the client disconnected'),
  tooLate: unavailable('the time limit passed while earlier calls of the user ran'),
};
