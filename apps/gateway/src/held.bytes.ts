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
 * - A user may take at most half of what is still free (the dynamic threshold by which switches share a buffer), so that
 *   however many take all they can get, there is something left for one who comes with little.
 * - What a request holds is given back when its response ends, however it ends.
 */
export class HeldBytes {
  private readonly users = new Map<string, number>();
  private total = 0;

  constructor(private readonly most: number) {}

  /** What all users hold. */
  get held(): number {
    return this.total;
  }

  /** What counts for one request of this user until its response has ended. */
  forRequest(userId: string, response: Ending): Hold {
    let own = 0;
    let ended = false;
    response.once('close', () => {
      ended = true;
      this.give(userId, own);
    });
    return (bytes) => {
      if (ended) throw full('the caller went away');
      this.take(userId, bytes);
      own += bytes;
    };
  }

  private take(userId: string, bytes: number): void {
    const held = (this.users.get(userId) ?? 0) + bytes;
    const allowed = Math.min(this.most / 4, (this.most - this.total) / 2);
    if (held > allowed) throw full('too many bytes are held');
    this.total += bytes;
    this.users.set(userId, held);
  }

  private give(userId: string, bytes: number): void {
    this.total -= bytes;
    const held = (this.users.get(userId) ?? 0) - bytes;
    if (held > 0) this.users.set(userId, held);
    else this.users.delete(userId);
  }
}

function full(reason: string): Failure {
  return new Failure('unavailable', undefined, { cause: new Error(reason) });
}
