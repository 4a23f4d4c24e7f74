import type { Api } from '#client';
import { connect } from './session.js';

/**
 * Brings in what has changed, of one kind of thing. One pull at a time: a hint that comes meanwhile is looked at afterwards.
 * What fails is left as it was, for the next hint or poll.
 */
export class Pulls {
  /** The stamp up to which everything was read; none before the first time. */
  since: string | undefined;
  private running: Promise<void> | undefined;
  private wanted: string | undefined;

  /**
   * @param pull everything where `since` is not given, else what changed after it.
   *   @returns the stamp up to which all is there.
   */
  constructor(private readonly pull: (since: string | undefined, api: Api) => Promise<string>) {}

  /** Brings everything in for the first time, once. @throws ApiError where that failed; the next call tries again. */
  begin(): Promise<void> {
    return this.since === undefined ? this.run() : Promise.resolve();
  }

  /** Looks for what is new, where everything was brought in before. @param stamp up to which there may be something. */
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
