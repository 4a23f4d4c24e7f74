import { type ReplyOf, type RequestOf, type Rpc, uploadActions } from '#contracts';
import { isUsable, readAction, type SkippedReason, type UsableAction } from './action.rule.js';
import { UrlUpdates } from './url.repair.js';

interface Writer {
  readonly userId: string;
  readonly sessionId?: string | undefined;
}

type Call = <C extends Rpc>(contract: C, payload: RequestOf<C>) => Promise<ReplyOf<C>>;

/** Writes the actions of one upload, and collects its answer and metrics. */
export class ActionWriter {
  readonly updates = new UrlUpdates();
  readonly devices = new Set<string>();
  /** Numbers of skipped actions by reason. */
  readonly skipped = new Map<SkippedReason, number>();
  /** Timestamp of the answer: the lowest of all messages, so that the client misses nothing. */
  timestamp: number | undefined;

  constructor(
    private readonly call: Call,
    private readonly writer: Writer,
  ) {}

  /** Parses an element of an upload and collects changed URLs; `undefined` if skipped. */
  read(sent: unknown): UsableAction | undefined {
    const action = readAction(sent);
    const { podcast, episode, feedUrl, enclosureUrl, device, skipped } = action;
    if (skipped !== undefined) this.skip(skipped);
    if (podcast !== undefined) this.updates.repaired(podcast, feedUrl);
    // GNOME Podcasts sends no URL next to a guid.
    if (episode) this.updates.repaired(episode, enclosureUrl);
    if (device !== undefined) this.devices.add(device);
    return isUsable(action) ? action : undefined;
  }

  /** Writes at most `mostActions` actions. */
  async write(actions: readonly UsableAction[]): Promise<void> {
    const { userId, sessionId } = this.writer;
    const entries = actions.map(({ entry }) => entry);
    const sent = { userId, entries, ...(sessionId !== undefined && { sessionId }) };
    const { timestamp, verdicts, moved } = await this.call(uploadActions, sent);
    this.timestamp = Math.min(this.timestamp ?? timestamp, timestamp);
    const current = new Map(moved);
    for (const [place, { podcast, feedUrl }] of actions.entries()) {
      const verdict = verdicts[place] ?? null;
      if (verdict !== null) this.skip(verdict === 'unknown_subscription' ? verdict : 'refused');
      const now = current.get(feedUrl);
      if (now !== undefined) this.updates.moved(podcast, feedUrl, now);
    }
  }

  /** Returns the timestamp of the answer. Calls the service if nothing was written. */
  async ask(): Promise<number> {
    if (this.timestamp === undefined) await this.write([]);
    return this.timestamp ?? 1;
  }

  private skip(reason: SkippedReason): void {
    this.skipped.set(reason, (this.skipped.get(reason) ?? 0) + 1);
  }
}
