import type { ServerResponse } from 'node:http';
import { Failure } from '#contracts';

/** Counts what a request makes this process hold. @throws Failure `unavailable` where there is no room for it. */
export type Hold = (bytes: number) => void;

/** What tells that an answer has left, or that its connection is gone. */
type Ending = Pick<ServerResponse, 'once'>;

/**
 * The bytes that requests make this process hold, from when they arrive until their answer has left: bodies that are read,
 * wait or run, and answers that a client takes its time to read.
 *
 * Invariants:
 * - All users together hold at most `most`, one user a quarter of it.
 * - One user has at most `requestsPerUser` requests; one more is refused before anything else is done for it.
 * - A user may take at most half of what is still free (the dynamic threshold by which switches share a buffer), so that
 *   however many take all they can get, there is something left for one who comes with little.
 * - What a request holds is given back when its response ends, however it ends.
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
   * What counts for one request of this user until its response has ended.
   *
   * @throws Failure `unavailable` where the user has as many requests as one may.
   */
  forRequest(userId: string, response: Ending): Hold {
    const user = this.users.get(userId) ?? { bytes: 0, requests: 0 };
    if (user.requests >= this.requestsPerUser) throw refusals.requests;
    user.requests += 1;
    this.users.set(userId, user);
    let own = 0;
    let ended = false;
    response.once('close', () => {
      ended = true;
      this.total -= own;
      user.bytes -= own;
      user.requests -= 1;
      if (user.requests === 0) this.users.delete(userId);
    });
    return (bytes) => {
      if (ended) throw refusals.gone;
      const allowed = Math.min(this.most / 4, (this.most - this.total) / 2);
      if (user.bytes + bytes > allowed) throw refusals.bytes;
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
