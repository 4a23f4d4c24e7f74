/**
 * Loads all data of one kind, such as subscriptions, then only its changes. Invariants:
 * - one request runs at a time;
 * - a notification during a request, also during the first one, starts another request afterwards;
 * - the next notification or poll repeats a failed request.
 */
export class ChangeLoader {
  /** The sync timestamp up to which all data is loaded; undefined before the first load ends. */
  loadedUntil: string | undefined;
  /** The load in progress, if there is one. */
  private runningLoad: Promise<void> | undefined;
  /** The latest notified sync timestamp during the running load; undefined without one. */
  private latestNotified: string | undefined;

  /**
   * @param requestChanges loads the changes after `since`, or all data if undefined. Resolves to
   *   the sync timestamp of the answer.
   */
  constructor(private readonly requestChanges: (since: string | undefined) => Promise<string>) {}

  /** Loads all data once. @throws ApiError on failure; the next call retries. */
  load(): Promise<void> {
    return this.loadedUntil === undefined ? this.loadChanges() : Promise.resolve();
  }

  /**
   * Loads the changes that a notification reports, unless they are loaded already. Has no effect
   * before {@link load}. Resolves after the load, even if the load fails.
   *
   * @param stamp the sync timestamp of the change. The default is later than any sync timestamp and
   *   always starts a load.
   */
  async notify(stamp = '9999'): Promise<void> {
    if (this.runningLoad) {
      if (this.latestNotified === undefined || stamp > this.latestNotified)
        this.latestNotified = stamp;
      return this.runningLoad.catch(() => {});
    }
    if (this.loadedUntil === undefined || stamp <= this.loadedUntil) return;
    await this.loadChanges().catch(() => {});
  }

  private loadChanges(): Promise<void> {
    this.runningLoad ??= this.requestChanges(this.loadedUntil)
      .then((since) => void (this.loadedUntil = since))
      .finally(() => {
        const { latestNotified: notified } = this;
        this.runningLoad = this.latestNotified = undefined;
        return notified === undefined ? undefined : this.notify(notified);
      });
    return this.runningLoad;
  }
}
