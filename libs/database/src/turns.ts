import { Failure } from '#contracts';
import { withTimeLimit } from '#runtime';

/** Lets callers with the same key run one after another, in the order in which they came. */
export class Turns {
  private readonly last = new Map<string, Promise<void>>();

  /**
   * Runs when every earlier caller with this key has ended.
   *
   * @throws Failure `unavailable` when its turn does not come in time.
   */
  async take<Result>(key: string, remainingMs: () => number, run: () => Promise<Result>): Promise<Result> {
    const before = this.last.get(key);
    let end: () => void = () => undefined;
    const mine = new Promise<void>((resolve) => (end = resolve));
    const last = before ? before.then(() => mine) : mine;
    this.last.set(key, last);
    void last.then(() => this.last.get(key) === last && this.last.delete(key));
    try {
      if (before) await withTimeLimit(before, remainingMs(), tooLate);
      return await run();
    } finally {
      end();
    }
  }
}

function tooLate(): Failure {
  const cause = new Error("earlier writes of the user took all of this one's time");
  return new Failure('unavailable', undefined, { cause });
}

/** What is left of a time that starts now, in milliseconds. */
export function timeLimit(milliseconds: number): () => number {
  const end = performance.now() + milliseconds;
  return () => end - performance.now();
}
