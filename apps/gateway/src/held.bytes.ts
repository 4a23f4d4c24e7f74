import { Failure } from '#contracts';

/**
 * Counts what a request makes this process hold.
 *
 * @param always also where there is no room for it: it is there already, and can't be refused any more.
 * @throws Failure `unavailable` where there is no room for it.
 */
export type Hold = (bytes: number, always?: boolean) => void;

/**
 * The bytes that requests make this process hold, from when they arrive until their answer has left: bodies that are read,
 * wait or run, and answers that a client takes its time to read.
 *
 * Invariants:
 * - All users together hold at most `most`, one user a quarter of it.
 * - One user has at most `requestsPerUser` requests; one more is refused before anything else is done for it.
 * - A user may take at most half of what is still free (the dynamic threshold by which switches share a buffer), so that
 *   however many take all they can get, there is something left for one who comes with little.
 * - What a request holds is given back when it ends, however it ends; one that has ended holds nothing.
 */
export class HeldBytes {
  private readonly users = new Map<string, { bytes: number; requests: number }>();
  private total = 0;

  constructor(
    private readonly most: number,
    private readonly requestsPerUser: number,
  ) {}

  /** What all users hold. */
  get held(): number {
    return this.total;
  }

  /**
   * What counts for one request of this user.
   *
   * @param ended aborted when it ends.
   * @throws Failure `unavailable` where the user has as many requests as one may, or the request has ended.
   */
  forRequest(userId: string, ended: AbortSignal): Hold {
    if (ended.aborted) throw refusals.gone;
    const user = this.users.get(userId) ?? { bytes: 0, requests: 0 };
    if (user.requests >= this.requestsPerUser) throw refusals.requests;
    user.requests += 1;
    this.users.set(userId, user);
    let own = 0;
    ended.addEventListener('abort', () => {
      this.total -= own;
      user.bytes -= own;
      user.requests -= 1;
      if (user.requests === 0) this.users.delete(userId);
    });
    return (bytes, always = false) => {
      if (ended.aborted) throw refusals.gone;
      const allowed = Math.min(this.most / 4, (this.most - this.total) / 2);
      if (!always && user.bytes + bytes > allowed) throw refusals.bytes;
      this.total += bytes;
      user.bytes += bytes;
      own += bytes;
    };
  }
}

/** Made once: to say no has to cost less than to ask. */
const refusals = {
  requests: refusal('too many requests of one user'),
  bytes: refusal('too many bytes are held'),
  gone: refusal('the caller went away'),
};

function refusal(reason: string): Failure {
  return new Failure('unavailable', undefined, { cause: new Error(reason) });
}
