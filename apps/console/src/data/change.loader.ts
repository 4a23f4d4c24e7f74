/**
 * Loads one kind of data, then its changes. Invariants:
 * - one request runs at a time;
 * - a notification during a request, also during the first one, starts another request afterwards;
 * - the next notification or poll repeats a failed request.
 */
export class ChangeLoader {
  /** The sync timestamp up to which all data is loaded; undefined before the first load ends. */
  since: string | undefined;
  private running: Promise<void> | undefined;
  /** The latest sync timestamp that was notified during the running request. */
  private notified: string | undefined;

  /**
   * @param request loads the changes after `since`, or all data if undefined, and resolves to the
   *   sync timestamp of the answer.
   */
  constructor(private readonly request: (since: string | undefined) => Promise<string>) {}

  /** Loads all data once. @throws ApiError on failure; the next call retries. */
  load(): Promise<void> {
    return this.since === undefined ? this.run() : Promise.resolve();
  }

  /**
   * Loads changes if the data is older than a notification, and ends after them. It also ends if
   * the load fails.
   *
   * @param stamp the sync timestamp of the change. The default is later than any sync timestamp, so
   *   that changes are always loaded.
   */
  async notify(stamp = '9999'): Promise<void> {
    if (this.running) {
      if (this.notified === undefined || stamp > this.notified) this.notified = stamp;
      return this.running.catch(() => {});
    }
    if (this.since === undefined || stamp <= this.since) return;
    await this.run().catch(() => {});
  }

  private run(): Promise<void> {
    this.running ??= this.request(this.since)
      .then((since) => void (this.since = since))
      .finally(() => {
        const { notified } = this;
        this.running = this.notified = undefined;
        return notified === undefined ? undefined : this.notify(notified);
      });
    return this.running;
  }
}
