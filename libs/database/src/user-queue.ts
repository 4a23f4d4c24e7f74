import { unavailable } from '#contracts';
import { withTimeLimit } from '#runtime';

/** Runs the writes of each user one after another, in the order of arrival. */
export class UserQueue {
  /** By user: a promise that resolves when the last write and all earlier ones have ended. */
  private readonly lastWrites = new Map<string, Promise<void>>();

  /**
   * Runs a write after all earlier writes of the user.
   *
   * @throws Failure `unavailable` if the deadline passes before the write can start.
   */
  async run<Result>(
    userId: string,
    remainingMs: () => number,
    run: () => Promise<Result>,
  ): Promise<Result> {
    const earlier = this.lastWrites.get(userId);
    let end: () => void = () => undefined;
    const mine = new Promise<void>((resolve) => (end = resolve));
    const last = earlier ? earlier.then(() => mine) : mine;
    this.lastWrites.set(userId, last);
    void last.then(() => this.lastWrites.get(userId) === last && this.lastWrites.delete(userId));
    try {
      if (earlier) await withTimeLimit(earlier, remainingMs(), deadlineError);
      return await run();
    } finally {
      end();
    }
  }
}

const deadlineError = () => unavailable('the deadline passed while earlier writes of the user ran');

/**
 * Starts a countdown. Returns a function that returns the remaining milliseconds, negative after
 * the deadline.
 */
export function countdown(milliseconds: number): () => number {
  const end = performance.now() + milliseconds;
  return () => end - performance.now();
}
