import { unavailable } from '#contracts';
import { withTimeLimit } from '#runtime';

/** Runs the writes of each user one after another, in the order of arrival. */
export class UserQueue {
  /** By user id: a promise that resolves when all queued writes of the user have ended. */
  private readonly pendingWrites = new Map<string, Promise<void>>();

  /**
   * Runs a write after all earlier writes of the user.
   *
   * @throws Failure `unavailable` if the deadline passes before the write can start.
   */
  async run<Result>(
    userId: string,
    remainingMs: () => number,
    write: () => Promise<Result>,
  ): Promise<Result> {
    const earlierWrites = this.pendingWrites.get(userId);
    let endWrite: () => void = () => undefined;
    const thisWrite = new Promise<void>((resolve) => (endWrite = resolve));
    const allWrites = earlierWrites ? earlierWrites.then(() => thisWrite) : thisWrite;
    this.pendingWrites.set(userId, allWrites);
    void allWrites.then(
      () => this.pendingWrites.get(userId) === allWrites && this.pendingWrites.delete(userId),
    );
    try {
      if (earlierWrites) await withTimeLimit(earlierWrites, remainingMs(), createDeadlineError);
      return await write();
    } finally {
      endWrite();
    }
  }
}

const createDeadlineError = () =>
  unavailable('the deadline passed while earlier writes of the user ran');

/**
 * Starts a countdown. Returns a function that returns the remaining milliseconds, negative after
 * the deadline.
 */
export function countdown(milliseconds: number): () => number {
  const deadlineMs = performance.now() + milliseconds;
  return () => deadlineMs - performance.now();
}
