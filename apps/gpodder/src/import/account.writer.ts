import { chunkLimits, findAccount, mostActions, type ReplyOf, type RequestOf, type Rpc, subscribe } from '#contracts';
import { callUntilAvailable, type StreamClient } from '#transport';
import { ActionWriter } from '../actions/action.writer.js';
import type { ActionEntry, UsableAction } from '../actions/action.rule.js';
import { repairEnclosureUrl, repairFeedUrl } from '../actions/url.repair.js';
import { parsed } from './json.elements.js';
import type { Favorite } from './other.server.js';

/** Older than anything that was done here, so that it never wins over it. */
const longAgo = '1970-01-01T00:00:00Z';

/** No app password is at work: what readers are told hangs on none. */
const noCredential = '00000000-0000-0000-0000-000000000000';

/** What an import wrote. */
export interface Written {
  subscriptions: number;
  actions: number;
  favorites: number;
  skipped: number;
}

/** Writes into one account here what another server has. `unavailable` is no refusal, and tried again for ever. */
export class AccountWriter {
  readonly written: Written = { subscriptions: 0, actions: 0, favorites: 0, skipped: 0 };

  constructor(
    private readonly client: StreamClient,
    private readonly userId: string,
    private readonly stopped: AbortSignal,
  ) {}

  /** Finds the account with a name. @throws Error where there is none. */
  static async of(client: StreamClient, name: string, stopped: AbortSignal): Promise<AccountWriter> {
    const { userId } = await callUntilAvailable(client, findAccount, { name }, { stopped });
    if (userId === null) throw new Error(`nobody is called ${name} here (--user)`);
    return new AccountWriter(client, userId, stopped);
  }

  /** Subscribes, but for what was ever unsubscribed or deleted here. */
  async feeds(sent: readonly string[]): Promise<void> {
    const feeds = [...new Set(sent.flatMap((feed) => repairFeedUrl(feed) ?? []))];
    this.written.skipped += new Set(sent).size - feeds.length;
    for (let from = 0; from < feeds.length; from += chunkLimits.entries) {
      const entries = feeds.slice(from, from + chunkLimits.entries).map((feedUrl) => ({ feedUrl, timestamp: longAgo }));
      const { failure } = (await this.call(subscribe, { userId: this.userId, entries })).parse();
      // What is stored is newer: that is no refusal.
      const refused = failure.filter(({ code }) => code !== 'superseded').length;
      this.written.subscriptions += entries.length - refused;
      this.written.skipped += refused;
    }
  }

  /** Writes at most `mostActions` actions, each a text of JSON, as an upload of theirs would. */
  async actions(texts: readonly string[]): Promise<void> {
    const writer = this.writer();
    const usable = texts.flatMap((text) => dated(writer.read(parsed(text))) ?? []);
    await this.write(writer, usable);
    this.written.actions += texts.length;
  }

  /** Marks favourites, but for those that were ever marked or unmarked here. */
  async favorites(favorites: readonly Favorite[]): Promise<void> {
    const usable = favorites.flatMap((favorite) => favorited(favorite) ?? []);
    this.written.skipped += favorites.length - usable.length;
    for (let from = 0; from < usable.length; from += mostActions) {
      await this.write(this.writer(), usable.slice(from, from + mostActions));
    }
    this.written.favorites += usable.length;
  }

  private writer(): ActionWriter {
    const writer = { userId: this.userId, credentialId: noCredential };
    return new ActionWriter((contract, payload) => this.call(contract, payload), writer);
  }

  private async write(writer: ActionWriter, actions: readonly UsableAction[]): Promise<void> {
    if (actions.length > 0) await writer.write(actions);
    for (const skipped of writer.skipped.values()) this.written.skipped += skipped;
  }

  private call<C extends Rpc>(contract: C, request: RequestOf<C>): Promise<ReplyOf<C>> {
    return callUntilAvailable(this.client, contract, request, { stopped: this.stopped });
  }
}

/** An action without a time is older than all others: were it of now, each import would be a change. */
function dated(action: UsableAction | undefined): UsableAction | undefined {
  if (!action) return undefined;
  const statuses = Object.entries(action.entry.statuses).map(([name, status]) => [name, { at: longAgo, ...status }]);
  return { ...action, entry: { ...action.entry, statuses: Object.fromEntries(statuses) as ActionEntry['statuses'] } };
}

function favorited({ url, podcast_url: podcast }: Favorite): UsableAction | undefined {
  const [feedUrl, enclosureUrl] = [repairFeedUrl(podcast), repairEnclosureUrl(url)];
  if (feedUrl === undefined || enclosureUrl === undefined) return undefined;
  const statuses = { favoriteStatus: { value: true, at: longAgo } };
  return { podcast, feedUrl, entry: { feedUrl, enclosureUrl, statuses } };
}
