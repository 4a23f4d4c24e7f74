import {
  chunkLimits,
  findAccount,
  keptTitle,
  mostActions,
  type ReplyOf,
  type RequestOf,
  type Rpc,
  subscribe,
} from '#contracts';
import { callUntilAvailable, type StreamClient } from '#transport';
import { z } from 'zod';
import { ActionWriter } from '../actions/action.writer.js';
import {
  type ActionEntry,
  isUsable,
  type ReadAction,
  readAction,
  type UsableAction,
} from '../actions/action.rule.js';
import { repairEnclosureUrl, repairFeedUrl } from '../actions/url.repair.js';
import type { SkippedEntries } from './skipped.entries.js';

/** Older than all changes here, so that it never wins over them. */
const longAgo = '1970-01-01T00:00:00Z';

const feedSchema = z.object({ url: z.string(), title: z.string().catch('').default('') });
const favoriteSchema = z.object({ url: z.string(), podcast_url: z.string() });

/** Numbers of written records. */
export interface Written {
  subscriptions: number;
  actions: number;
  favorites: number;
}

/** Writes an imported account. Repeats `unavailable` calls without limit. */
export class AccountWriter {
  readonly written: Written = { subscriptions: 0, actions: 0, favorites: 0 };

  constructor(
    private readonly client: StreamClient,
    private readonly userId: string,
    private readonly stopped: AbortSignal,
    readonly skipped: SkippedEntries,
  ) {}

  /** Returns the writer of the account with this name. @throws Error if there is none. */
  static async of(
    client: StreamClient,
    name: string,
    stopped: AbortSignal,
    skipped: SkippedEntries,
  ): Promise<AccountWriter> {
    const { userId } = await callUntilAvailable(client, findAccount, { name }, { stopped });
    if (userId === null) throw new Error(`nobody is called ${name} here (--user)`);
    return new AccountWriter(client, userId, stopped, skipped);
  }

  /** Subscribes to feeds, except those that were ever unsubscribed or deleted here. */
  async feeds(sent: readonly unknown[]): Promise<void> {
    const titles = new Map<string, string>();
    for (const feed of sent) {
      const { feedUrl, title } = this.feedOf(feed) ?? {};
      if (feedUrl !== undefined) titles.set(feedUrl, titles.get(feedUrl) || title || '');
    }
    const feeds = [...titles];
    for (let from = 0; from < feeds.length; from += chunkLimits.entries) {
      const part = feeds.slice(from, from + chunkLimits.entries);
      const subscriptions = part.map(([feed_url, title]) => ({
        feed_url,
        title: keptTitle(title),
        timestamp: longAgo,
      }));
      const { failure } = (
        await this.call(subscribe, { userId: this.userId, body: { subscriptions } })
      ).parse();
      // The stored state is newer, which is no refusal.
      const refused = failure.filter(({ code }) => code !== 'superseded');
      this.written.subscriptions += part.length - refused.length;
      for (const { feed_url, message } of refused) this.skipped.add('feed', feed_url, message);
    }
  }

  /** Writes at most `mostActions` actions, each as JSON text, like an upload. */
  async actions(texts: readonly string[]): Promise<void> {
    const writer = this.writer();
    const usable = texts.flatMap((text) => dated(this.actionOf(text)) ?? []);
    await this.write(writer, usable);
    this.written.actions += usable.length;
  }

  /** Marks favourites, except those that were ever marked or unmarked here. */
  async favorites(favorites: readonly unknown[]): Promise<void> {
    const usable = favorites.flatMap((favorite) => this.favoriteOf(favorite) ?? []);
    for (let from = 0; from < usable.length; from += mostActions) {
      await this.write(this.writer(), usable.slice(from, from + mostActions));
    }
    this.written.favorites += usable.length;
  }

  private writer(): ActionWriter {
    return new ActionWriter((contract, payload) => this.call(contract, payload), {
      userId: this.userId,
    });
  }

  private async write(writer: ActionWriter, actions: readonly UsableAction[]): Promise<void> {
    if (actions.length > 0) await writer.write(actions);
    for (const [reason, entries] of writer.skipped) this.skipped.addMany('action', entries, reason);
  }

  /** Returns the URL and the title, which some servers replace by the URL as they know it. */
  private feedOf(sent: unknown): { feedUrl: string; title: string } | undefined {
    const feed =
      typeof sent === 'string' ? { url: sent, title: '' } : feedSchema.safeParse(sent).data;
    const feedUrl = feed && repairFeedUrl(feed.url);
    if (feed && feedUrl !== undefined)
      return { feedUrl, title: feed.title === feed.url ? '' : feed.title };
    this.skipped.add('feed', sent, 'it has no usable address');
    return undefined;
  }

  private actionOf(text: string): UsableAction | undefined {
    let action: ReadAction = { skipped: 'no_object' };
    try {
      action = readAction(JSON.parse(text));
    } catch {
      // The text is no JSON, hence no object.
    }
    if (isUsable(action)) return action;
    this.skipped.add('action', text, action.skipped ?? 'refused');
    return undefined;
  }

  private favoriteOf(favorite: unknown): UsableAction | undefined {
    const { data } = favoriteSchema.safeParse(favorite);
    const [feedUrl, enclosureUrl] = data
      ? [repairFeedUrl(data.podcast_url), repairEnclosureUrl(data.url)]
      : [];
    if (!data || feedUrl === undefined || enclosureUrl === undefined) {
      const what = feedUrl === undefined ? 'podcast' : 'episode';
      this.skipped.add(
        'favourite',
        favorite,
        data ? `it has no usable address of its ${what}` : 'it names no episode',
      );
      return undefined;
    }
    const statuses = { favoriteStatus: { value: true, at: longAgo } };
    return { podcast: data.podcast_url, feedUrl, entry: { feedUrl, enclosureUrl, statuses } };
  }

  private call<C extends Rpc>(contract: C, request: RequestOf<C>): Promise<ReplyOf<C>> {
    return callUntilAvailable(this.client, contract, request, { stopped: this.stopped });
  }
}

/** Gives an undated action the oldest time, so that a repeated import changes nothing. */
function dated(action: UsableAction | undefined): UsableAction | undefined {
  if (!action) return undefined;
  const statuses = Object.entries(action.entry.statuses).map(([name, status]) => [
    name,
    { at: longAgo, ...status },
  ]);
  return {
    ...action,
    entry: { ...action.entry, statuses: Object.fromEntries(statuses) as ActionEntry['statuses'] },
  };
}
