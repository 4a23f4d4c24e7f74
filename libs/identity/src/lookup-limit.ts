/**
 * Limits concurrent lookups in the account service: in total, and by key. One key, such as the
 * network of a client that guesses, cannot use up all of them.
 */
export class LookupLimit {
  private totalRunning = 0;
  private readonly runningByKey = new Map<string, number>();

  /**
   * @param max maximum concurrent lookups in total.
   * @param maxPerKey maximum concurrent lookups of one key.
   */
  constructor(
    private readonly max: number,
    private readonly maxPerKey: number,
  ) {}

  /** Runs a lookup. @throws the error of `createError` if too many run; errors of the lookup. */
  async run<Result>(
    key: string,
    lookUp: () => Promise<Result>,
    createError: () => Error,
  ): Promise<Result> {
    const runningOfKey = this.runningByKey.get(key) ?? 0;
    if (this.totalRunning >= this.max || runningOfKey >= this.maxPerKey) throw createError();
    this.changeCounts(key, 1);
    try {
      return await lookUp();
    } finally {
      this.changeCounts(key, -1);
    }
  }

  private changeCounts(key: string, change: 1 | -1): void {
    const runningOfKey = (this.runningByKey.get(key) ?? 0) + change;
    this.totalRunning += change;
    if (runningOfKey > 0) this.runningByKey.set(key, runningOfKey);
    else this.runningByKey.delete(key);
  }
}
