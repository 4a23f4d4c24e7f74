import { unavailable } from '#contracts';
import type { RequestEnd } from './request.end.js';

/**
 * Accounts for bytes that a request makes this process hold.
 *
 * @param always accounts for them even beyond the limits: for what exists already and can't be refused any more.
 * @throws Failure `unavailable` beyond the limits.
 */
export type Hold = (bytes: number, always?: boolean) => void;

/**
 * The bytes that requests make this process hold, from their arrival until their answer is sent: bodies that are read,
 * wait or run, and answers that clients read slowly.
 *
 * Invariants:
 * - All users together hold at most `most`, one user a quarter of it.
 * - One user has at most `requestsPerUser` requests; one more is refused before anything else is done for it.
 * - A user may take at most half of what is free (the dynamic threshold by which network switches share a buffer), so
 *   something is always left for users who need little.
 * - What a request holds is released when it ends, however it ends.
 */
export class HeldBytes {
  private readonly users = new Map<string, { bytes: number; requests: number }>();
  private total = 0;

  constructor(
    private readonly most: number,
    private readonly requestsPerUser: number,
  ) {}

  /** Bytes that all users hold. */
  get held(): number {
    return this.total;
  }

  /**
   * Opens the account of one request.
   *
   * @throws Failure `unavailable` where the user has too many requests, or this one has ended.
   */
  forRequest(userId: string, end: RequestEnd): Hold {
    if (end.reached) throw failures.callerLeft;
    const user = this.users.get(userId) ?? { bytes: 0, requests: 0 };
    if (user.requests >= this.requestsPerUser) throw failures.requests;
    user.requests += 1;
    this.users.set(userId, user);
    let own = 0;
    end.onReached(() => {
      this.total -= own;
      user.bytes -= own;
      user.requests -= 1;
      if (user.requests === 0) this.users.delete(userId);
    });
    return (bytes, always = false) => {
      if (end.reached) throw failures.callerLeft;
      const allowed = Math.min(this.most / 4, (this.most - this.total) / 2);
      if (!always && user.bytes + bytes > allowed) throw failures.bytes;
      this.total += bytes;
      user.bytes += bytes;
      own += bytes;
    };
  }
}

/** Created once, as refusing a request has to cost less than sending it. */
const failures = {
  requests: unavailable('too many requests of one user'),
  bytes: unavailable('too many bytes are held'),
  callerLeft: unavailable('the caller went away'),
};
