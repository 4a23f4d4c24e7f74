/**
 * Limits concurrent lookups in the account service: in total, and by key. One key, such as the
 * network of a client that guesses, cannot use up all of them.
 */
export class LookupLimit {
  private running = 0;
  private readonly runningByKey = new Map<string, number>();

  /**
   * @param max maximum concurrent lookups in total.
   * @param maxPerKey maximum concurrent lookups of one key.
   */
  constructor(
    private readonly max: number,
    private readonly maxPerKey: number,
  ) {}

  /** Runs a lookup. @throws the error of `busy` if too many run; errors of the lookup. */
  async run<Result>(
    key: string,
    lookUp: () => Promise<Result>,
    busy: () => Error,
  ): Promise<Result> {
    const ofKey = this.runningByKey.get(key) ?? 0;
    if (this.running >= this.max || ofKey >= this.maxPerKey) throw busy();
    this.count(key, 1);
    try {
      return await lookUp();
    } finally {
      this.count(key, -1);
    }
  }

  private count(key: string, change: 1 | -1): void {
    const ofKey = (this.runningByKey.get(key) ?? 0) + change;
    this.running += change;
    if (ofKey > 0) this.runningByKey.set(key, ofKey);
    else this.runningByKey.delete(key);
  }
}
