import { changeFeeds, mostActions, type ReplyOf, type RequestOf, type Rpc, uploadActions } from '#contracts';
import { type ActionEntry, isUsable, readAction, type SkippedReason, type UsableAction } from './action.rule.js';
import { UrlUpdates } from './url.repair.js';

/** For whom actions are written. */
export interface Writer {
  readonly userId: string;
  /** The app password; any UUID where there is none. */
  readonly credentialId: string;
  readonly sessionId?: string | undefined;
}

/**
 * The messages of one upload that send again what another one could not apply. One message of actions that are each refused
 * by itself, as nobody but a misuser has, takes as many.
 */
const mostRepeats = 2 * mostActions;

type Outcome = Pick<ReplyOf<typeof uploadActions>, 'verdicts' | 'moved'>;

/** Calls a service. @throws Failure */
export type Call = <C extends Rpc>(contract: C, payload: RequestOf<C>) => Promise<ReplyOf<C>>;

/** Writes what actions mean, and notes what there is to say of them. Feeds that nobody knows yet are made known, once. */
export class ActionWriter {
  readonly updates = new UrlUpdates();
  readonly devices = new Set<string>();
  /** How many actions were skipped why. */
  readonly skipped = new Map<SkippedReason, number>();
  /** What the client is told: of several messages the lowest, which is safe. */
  timestamp: number | undefined;
  /** What feeds are named by that were made known; `null` where they can't be. */
  private readonly feeds = new Map<string, string | null>();
  private repeats = 0;

  constructor(
    private readonly call: Call,
    private readonly writer: Writer,
  ) {}

  /** Reads one element of an upload, and notes what of it is not as it was sent. @returns none where it is skipped. */
  read(sent: unknown): UsableAction | undefined {
    const action = readAction(sent);
    const { podcast, episode, feedUrl, enclosureUrl, device, skipped } = action;
    if (skipped !== undefined) this.skip(skipped, 1);
    if (podcast !== undefined) this.updates.repaired(podcast, feedUrl);
    // GNOME Podcasts sends none beside a guid.
    if (episode) this.updates.repaired(episode, enclosureUrl);
    if (device !== undefined) this.devices.add(device);
    return isUsable(action) ? action : undefined;
  }

  /** Writes at most `mostActions`. */
  async write(actions: readonly UsableAction[]): Promise<void> {
    const unknown = await this.writeKnown(actions, true);
    if (unknown.length === 0) return;
    await this.makeKnown([...new Set(unknown.map(({ feedUrl }) => feedUrl))]);
    await this.writeKnown(unknown, false);
  }

  /** Asks what the client is told, where nothing was written. */
  async ask(): Promise<number> {
    if (this.timestamp === undefined) await this.send([]);
    return this.timestamp ?? 1;
  }

  private skip(reason: SkippedReason, count: number): void {
    if (count > 0) this.skipped.set(reason, (this.skipped.get(reason) ?? 0) + count);
  }

  /**
   * Writes what is of feeds that can be known.
   *
   * @param first whether feeds that turn out to be unknown may be made known. @returns the actions of these.
   */
  private async writeKnown(actions: readonly UsableAction[], first: boolean): Promise<UsableAction[]> {
    const usable = actions.filter(({ feedUrl }) => this.feeds.get(feedUrl) !== null);
    this.skip('unknown_subscription', actions.length - usable.length);
    if (usable.length === 0) return [];
    const entries = usable.map(({ entry, feedUrl }) => ({ ...entry, feedUrl: this.feeds.get(feedUrl) ?? feedUrl }));
    const { verdicts, moved } = await this.sendInParts(entries);
    const current = new Map(moved);
    const unknown: UsableAction[] = [];
    for (const [place, action] of usable.entries()) {
      const { feedUrl } = entries[place] as ActionEntry;
      const verdict = verdicts[place] ?? null;
      const isUnknown = verdict === 'unknown_subscription';
      if (isUnknown && first && !this.feeds.has(action.feedUrl)) unknown.push(action);
      else if (verdict !== null) this.skip(isUnknown ? 'unknown_subscription' : 'refused', 1);
      const now = current.get(feedUrl) ?? feedUrl;
      if (now !== action.feedUrl) this.updates.moved(action.podcast, action.feedUrl, now);
    }
    return unknown;
  }

  private async makeKnown(feedUrls: string[]): Promise<void> {
    const { userId, credentialId } = this.writer;
    // Without the session: what this tells of subscriptions the client does not get to see.
    const sent = { userId, credentialId, add: [], remove: [], know: feedUrls, whole: false };
    const { know } = await this.call(changeFeeds, sent);
    for (const [place, feedUrl] of feedUrls.entries()) this.feeds.set(feedUrl, know[place]?.feedUrl ?? null);
  }

  /**
   * Sends entries; those again, in halves, of which one message has too many. What a single one of is too many, and what is
   * left after `mostRepeats`, stays refused.
   */
  private async sendInParts(entries: ActionEntry[]): Promise<Outcome> {
    const { verdicts, moved } = await this.send(entries);
    const places = [...entries.keys()].filter((place) => verdicts[place] === 'too_many_at_once');
    const middle = Math.ceil(places.length / 2);
    const halves = entries.length > 1 ? [places.slice(0, middle), places.slice(middle)] : [];
    for (const half of halves) {
      if (half.length === 0 || this.repeats >= mostRepeats) continue;
      this.repeats += 1;
      const again = await this.sendInParts(half.map((place) => entries[place] as ActionEntry));
      for (const [index, place] of half.entries()) verdicts[place] = again.verdicts[index] ?? null;
      moved.push(...again.moved);
    }
    return { verdicts, moved };
  }

  private async send(entries: ActionEntry[]) {
    const { userId, sessionId } = this.writer;
    const reply = await this.call(uploadActions, { userId, entries, ...(sessionId !== undefined && { sessionId }) });
    this.timestamp = Math.min(this.timestamp ?? reply.timestamp, reply.timestamp);
    return reply;
  }
}
