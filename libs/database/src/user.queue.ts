import { unavailable } from '#contracts';
import { withTimeLimit } from '#runtime';

/** Runs the writes of one user one after another, in the order in which they came; those of other users meanwhile. */
export class UserQueue {
  /** Settles when the last write of a user has ended, and with it every earlier one. */
  private readonly last = new Map<string, Promise<void>>();

  /**
   * Runs when every earlier write of the user has ended.
   *
   * @throws Failure `unavailable` when they take longer than `remainingMs`.
   */
  async run<Result>(userId: string, remainingMs: () => number, run: () => Promise<Result>): Promise<Result> {
    const earlier = this.last.get(userId);
    let end: () => void = () => undefined;
    const mine = new Promise<void>((resolve) => (end = resolve));
    const last = earlier ? earlier.then(() => mine) : mine;
    this.last.set(userId, last);
    void last.then(() => this.last.get(userId) === last && this.last.delete(userId));
    try {
      if (earlier) await withTimeLimit(earlier, remainingMs(), tooLate);
      return await run();
    } finally {
      end();
    }
  }
}

const tooLate = () => unavailable("earlier writes of the user took all of this one's time");

/** What is left of a time that starts now, in milliseconds. */
export function countdown(milliseconds: number): () => number {
  const end = performance.now() + milliseconds;
  return () => end - performance.now();
}
