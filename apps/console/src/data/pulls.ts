import type { Api } from '#client';
import { connect } from './session.js';

/**
 * Loads one kind of data, then its changes. Only one pull runs at a time; a notification in the
 * meantime starts another one afterwards. The next notification or poll repeats a failed pull.
 */
export class Pulls {
  /** The sync timestamp up to which all data is loaded; undefined before the first pull. */
  since: string | undefined;
  private running: Promise<void> | undefined;
  private wanted: string | undefined;

  /** @param pull loads the changes after `since`, or everything. It returns its sync timestamp. */
  constructor(private readonly pull: (since: string | undefined, api: Api) => Promise<string>) {}

  /** Loads everything for the first time. @throws ApiError on failure; the next call retries. */
  begin(): Promise<void> {
    return this.since === undefined ? this.run() : Promise.resolve();
  }

  /** Loads changes after the first load. @param stamp the sync timestamp of the change. */
  async hint(stamp = '9'): Promise<void> {
    if (this.since === undefined || stamp <= this.since) return;
    if (this.running) {
      if (this.wanted === undefined || stamp > this.wanted) this.wanted = stamp;
      return;
    }
    await this.run().catch(() => {});
    const { wanted } = this;
    this.wanted = undefined;
    if (wanted !== undefined) await this.hint(wanted);
  }

  private run(): Promise<void> {
    this.running ??= (async () => {
      this.since = await this.pull(this.since, await connect());
    })().finally(() => (this.running = undefined));
    return this.running;
  }
}
