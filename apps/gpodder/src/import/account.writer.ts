import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import {
  chunkLimits,
  Failure,
  findAccount,
  loadSubscriptions,
  mostActions,
  type ReplyOf,
  type RequestOf,
  type Rpc,
} from '#contracts';
import { call, type StreamClient } from '#transport';
import { ActionWriter } from '../actions/action.writer.js';
import type { ActionEntry, UsableAction } from '../actions/action.rule.js';
import { repairEnclosureUrl, repairFeedUrl } from '../actions/url.repair.js';
import { parsed } from './json.elements.js';
import type { Favorite } from './other.server.js';

/** The pause after the first answer `unavailable`, doubled up to the last, in milliseconds. */
const [firstPauseMs, lastPauseMs] = [100, 5_000];

/** Older than anything that was done here, so that it never wins over it. */
const longAgo = '1970-01-01T00:00:00Z';

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
    const { userId } = await patiently(client, findAccount, { name }, stopped);
    if (userId === null) throw new Error(`nobody is called ${name} here (--user)`);
    return new AccountWriter(client, userId, stopped);
  }

  /** Subscribes, but for what was ever unsubscribed or deleted here. */
  async feeds(sent: readonly string[]): Promise<void> {
    const feeds = [...new Set(sent.flatMap((feed) => repairFeedUrl(feed) ?? []))];
    this.written.skipped += new Set(sent).size - feeds.length;
    for (let from = 0; from < feeds.length; from += chunkLimits.entries) {
      const entries = feeds
        .slice(from, from + chunkLimits.entries)
        .map((feedUrl) => ({ feedUrl, isSubscribed: true, timestamp: longAgo }));
      const { refused } = await this.call(loadSubscriptions, { userId: this.userId, entries });
      this.written.subscriptions += entries.length - refused.length;
      this.written.skipped += refused.length;
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
    return new ActionWriter((contract, payload) => this.call(contract, payload), { userId: this.userId });
  }

  private async write(writer: ActionWriter, actions: readonly UsableAction[]): Promise<void> {
    if (actions.length > 0) await writer.write(actions);
    for (const skipped of writer.skipped.values()) this.written.skipped += skipped;
  }

  private call<C extends Rpc>(contract: C, request: RequestOf<C>): Promise<ReplyOf<C>> {
    return patiently(this.client, contract, request, this.stopped);
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

/** Calls a service until it can be answered; one request id makes it one write. */
async function patiently<C extends Rpc>(
  client: StreamClient,
  contract: C,
  request: RequestOf<C>,
  stopped: AbortSignal,
): Promise<ReplyOf<C>> {
  const requestId = randomUUID();
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, lastPauseMs)) {
    stopped.throwIfAborted();
    try {
      return await call(client, contract, request, { requestId });
    } catch (error) {
      if (!(error instanceof Failure) || error.code !== 'unavailable') throw error;
    }
    await delay(pauseMs * (0.75 + Math.random() / 2), undefined, { signal: stopped });
  }
}
