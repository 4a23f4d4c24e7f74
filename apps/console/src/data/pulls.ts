/**
 * Loads one kind of data, then its changes. Invariants:
 * - one pull runs at a time;
 * - a notification during a pull, also during the first one, starts another pull afterwards;
 * - the next notification or poll repeats a failed pull.
 */
export class Pulls {
  /** The sync timestamp up to which all data is loaded; undefined before the first pull ends. */
  since: string | undefined;
  private running: Promise<void> | undefined;
  /** The latest sync timestamp of which a notification came during the running pull. */
  private notified: string | undefined;

  /** @param pull loads the changes after `since`, or everything. It returns its sync timestamp. */
  constructor(private readonly pull: (since: string | undefined) => Promise<string>) {}

  /** Loads everything for the first time. @throws ApiError on failure; the next call retries. */
  begin(): Promise<void> {
    return this.since === undefined ? this.run() : Promise.resolve();
  }

  /** Loads changes after the first load. @param stamp the sync timestamp of the change. */
  async hint(stamp = '9'): Promise<void> {
    if (this.running) {
      if (this.notified === undefined || stamp > this.notified) this.notified = stamp;
      return;
    }
    if (this.since === undefined || stamp <= this.since) return;
    await this.run().catch(() => {});
  }

  private run(): Promise<void> {
    this.running ??= this.pull(this.since)
      .then((since) => void (this.since = since))
      .finally(() => {
        const { notified } = this;
        this.running = this.notified = undefined;
        if (notified !== undefined) void this.hint(notified);
      });
    return this.running;
  }
}
