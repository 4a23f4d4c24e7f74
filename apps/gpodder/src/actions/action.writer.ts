import { type ReplyOf, type RequestOf, type Rpc, uploadActions } from '#contracts';
import { isUsable, readAction, type SkippedReason, type UsableAction } from './action.rule.js';
import { UrlUpdates } from './url.repair.js';

/** The owner of the actions. */
interface Writer {
  readonly userId: string;
  readonly sessionId?: string | undefined;
}

/** Calls a service. @throws Failure */
type Call = <C extends Rpc>(contract: C, payload: RequestOf<C>) => Promise<ReplyOf<C>>;

/** Writes the actions of one upload, and collects what its answer and the metrics say of them. */
export class ActionWriter {
  readonly updates = new UrlUpdates();
  readonly devices = new Set<string>();
  /** How many actions were skipped why. */
  readonly skipped = new Map<SkippedReason, number>();
  /** The timestamp of the answer: of several messages the lowest, which is safe. */
  timestamp: number | undefined;

  constructor(
    private readonly call: Call,
    private readonly writer: Writer,
  ) {}

  /** Reads one element of an upload, and notes what of it is not as it was sent. @returns none where it is skipped. */
  read(sent: unknown): UsableAction | undefined {
    const action = readAction(sent);
    const { podcast, episode, feedUrl, enclosureUrl, device, skipped } = action;
    if (skipped !== undefined) this.skip(skipped);
    if (podcast !== undefined) this.updates.repaired(podcast, feedUrl);
    // GNOME Podcasts sends none beside a guid.
    if (episode) this.updates.repaired(episode, enclosureUrl);
    if (device !== undefined) this.devices.add(device);
    return isUsable(action) ? action : undefined;
  }

  /** Writes at most `mostActions`. */
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

  /** The timestamp of the answer, which is asked for where nothing was written. */
  async ask(): Promise<number> {
    if (this.timestamp === undefined) await this.write([]);
    return this.timestamp ?? 1;
  }

  private skip(reason: SkippedReason): void {
    this.skipped.set(reason, (this.skipped.get(reason) ?? 0) + 1);
  }
}
