import { unavailable } from '#contracts';
import { withTimeLimit } from '#runtime';

/** Runs the writes of each user one after another, in the order of arrival. */
export class UserQueue {
  /** By user: a promise that resolves when the last write and all earlier ones have ended. */
  private readonly last = new Map<string, Promise<void>>();

  /**
   * Runs a write after all earlier writes of the user.
   *
   * @throws Failure `unavailable` if time is up before its turn.
   */
  async run<Result>(
    userId: string,
    remainingMs: () => number,
    run: () => Promise<Result>,
  ): Promise<Result> {
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

const tooLate = () => unavailable('the deadline passed while earlier writes of the user ran');

/**
 * Starts a countdown. Returns a function that returns the remaining milliseconds, negative after
 * the deadline.
 */
export function countdown(milliseconds: number): () => number {
  const end = performance.now() + milliseconds;
  return () => end - performance.now();
}
