import { type ReplyOf, type RequestOf, type Rpc, uploadActions } from '#contracts';
import { isUsable, parseAction, type SkipReason, type UsableAction } from './action.rules.js';
import { UrlUpdates } from './url-repair.js';

/** The user who uploads actions, and the session of the client's cookie, if there is one. */
interface Uploader {
  readonly userId: string;
  readonly sessionId?: string | undefined;
}

/** Calls a service. */
type CallService = <C extends Rpc>(contract: C, payload: RequestOf<C>) => Promise<ReplyOf<C>>;

/** Sends the actions of one upload to the episode service, and collects the answer's contents. */
export class ActionWriter {
  /** URLs that the server replaced, for `update_urls` of the answer. */
  readonly updates = new UrlUpdates();
  /** Ids of the devices that the actions name. */
  readonly devices = new Set<string>();
  /** Number of skipped actions by reason. */
  readonly skipped = new Map<SkipReason, number>();
  /**
   * Timestamp of the answer: the lowest timestamp of all replies, so that the client misses no
   * change. Undefined before the first reply.
   */
  timestamp: number | undefined;

  constructor(
    private readonly callService: CallService,
    private readonly uploader: Uploader,
  ) {}

  /**
   * Parses an action of an upload, and collects its repaired URLs and its device.
   *
   * @returns undefined for an unusable action, which is skipped.
   */
  read(sent: unknown): UsableAction | undefined {
    const action = parseAction(sent);
    const { podcast, episode, feedUrl, enclosureUrl, device, skipped } = action;
    if (skipped !== undefined) this.countSkipped(skipped);
    if (podcast !== undefined) this.updates.addRepaired(podcast, feedUrl);
    // Ignores the empty URL that GNOME Podcasts sends if the action has a guid.
    if (episode) this.updates.addRepaired(episode, enclosureUrl);
    if (device !== undefined) this.devices.add(device);
    return isUsable(action) ? action : undefined;
  }

  /**
   * Sends actions to the episode service in one request, and counts rejected actions.
   *
   * @param actions at most {@link maxActions}; the caller must split longer lists.
   */
  async write(actions: readonly UsableAction[]): Promise<void> {
    const { userId, sessionId } = this.uploader;
    const entries = actions.map(({ entry }) => entry);
    const request = { userId, entries, ...(sessionId !== undefined && { sessionId }) };
    const { timestamp, verdicts, moved } = await this.callService(uploadActions, request);
    this.timestamp = Math.min(this.timestamp ?? timestamp, timestamp);
    const currentUrls = new Map(moved);
    for (const [index, { podcast, feedUrl }] of actions.entries()) {
      const failureCode = verdicts[index] ?? null;
      if (failureCode !== null)
        this.countSkipped(failureCode === 'unknown_subscription' ? failureCode : 'refused');
      const currentUrl = currentUrls.get(feedUrl);
      if (currentUrl !== undefined) this.updates.addMoved(podcast, feedUrl, currentUrl);
    }
  }

  /** Returns the timestamp of the answer. If no actions were sent, sends an empty upload. */
  async readTimestamp(): Promise<number> {
    if (this.timestamp === undefined) await this.write([]);
    return this.timestamp ?? 1;
  }

  private countSkipped(reason: SkipReason): void {
    this.skipped.set(reason, (this.skipped.get(reason) ?? 0) + 1);
  }
}
