import {
  chunkLimits,
  storedTitle,
  maxActions,
  type ReplyOf,
  type RequestOf,
  type Rpc,
  subscribe,
} from '#contracts';
import { callUntilAvailable, type StreamClient } from '#transport';
import { z } from 'zod';
import { ActionWriter } from '../action-writer.js';
import {
  type ActionEntry,
  isUsable,
  type ParsedAction,
  parseAction,
  type UsableAction,
} from '../action.rules.js';
import { oldestTime } from '../action-values.js';
import { repairEnclosureUrl, repairFeedUrl } from '../url-repair.js';
import type { SkippedEntries } from './skipped-entries.js';

const feedSchema = z.object({ url: z.string(), title: z.string().catch('').default('') });
const favoriteSchema = z.object({ url: z.string(), podcast_url: z.string() });

/** Numbers of imported entries. */
interface WrittenCounts {
  subscriptions: number;
  actions: number;
  favorites: number;
}

/**
 * Writes an imported account by calls of the services. Entries without a time get the oldest time,
 * so that they never replace changes on this server. Repeats a call that fails with `unavailable`
 * until the service answers.
 */
export class AccountWriter {
  readonly written: WrittenCounts = { subscriptions: 0, actions: 0, favorites: 0 };

  constructor(
    private readonly client: StreamClient,
    private readonly userId: string,
    private readonly stopSignal: AbortSignal,
    readonly skipped: SkippedEntries,
  ) {}

  /** Subscribes to feeds, except feeds that were ever unsubscribed or deleted on this server. */
  async writeFeeds(sentFeeds: readonly unknown[]): Promise<void> {
    const titles = new Map<string, string>();
    for (const entry of sentFeeds) {
      const { feedUrl, title } = this.parseFeed(entry) ?? {};
      if (feedUrl !== undefined) titles.set(feedUrl, titles.get(feedUrl) || title || '');
    }
    const feeds = [...titles];
    for (let from = 0; from < feeds.length; from += chunkLimits.entries) {
      const batch = feeds.slice(from, from + chunkLimits.entries);
      const subscriptions = batch.map(([feed_url, title]) => ({
        feed_url,
        title: storedTitle(title),
        timestamp: oldestTime,
      }));
      const { failure } = (
        await this.callService(subscribe, { userId: this.userId, body: { subscriptions } })
      ).parse();
      // Counts `superseded` as imported, because the state on this server is newer.
      const rejected = failure.filter(({ code }) => code !== 'superseded');
      this.written.subscriptions += batch.length - rejected.length;
      for (const { feed_url, code } of rejected) this.skipped.add('feed', feed_url, code);
    }
  }

  /** Writes at most {@link maxActions} actions, given as JSON texts. Skips invalid actions. */
  async writeActions(actionTexts: readonly string[]): Promise<void> {
    const actions = actionTexts.flatMap((text) => this.parseAction(text) ?? []).map(withOldestTime);
    this.written.actions += await this.sendActions(actions);
  }

  /** Marks favourite episodes, except episodes that were ever marked or unmarked on this server. */
  async writeFavorites(favorites: readonly unknown[]): Promise<void> {
    const actions = favorites.flatMap((favorite) => this.parseFavorite(favorite) ?? []);
    for (let from = 0; from < actions.length; from += maxActions)
      this.written.favorites += await this.sendActions(actions.slice(from, from + maxActions));
  }

  /** Sends actions to the episode service. Returns the number of accepted actions. */
  private async sendActions(actions: readonly UsableAction[]): Promise<number> {
    const writer = new ActionWriter((contract, payload) => this.callService(contract, payload), {
      userId: this.userId,
    });
    if (actions.length > 0) await writer.write(actions);
    let acceptedCount = actions.length;
    for (const [reason, entries] of writer.skipped) {
      this.skipped.addMany('action', entries, reason);
      acceptedCount -= entries;
    }
    return acceptedCount;
  }

  /** Returns URL and title of a feed. Some servers send the URL as title, which is ignored. */
  private parseFeed(sent: unknown): { feedUrl: string; title: string } | undefined {
    const feed =
      typeof sent === 'string' ? { url: sent, title: '' } : feedSchema.safeParse(sent).data;
    const feedUrl = feed && repairFeedUrl(feed.url);
    if (feed && feedUrl !== undefined)
      return { feedUrl, title: feed.title === feed.url ? '' : feed.title };
    this.skipped.add('feed', sent, 'unusable_podcast');
    return undefined;
  }

  private parseAction(text: string): UsableAction | undefined {
    let action: ParsedAction = { skipped: 'not_an_object' };
    try {
      action = parseAction(JSON.parse(text));
    } catch {
      // Skips invalid JSON with the reason `not_an_object`.
    }
    if (isUsable(action)) return action;
    this.skipped.add('action', text, action.skipped ?? 'refused');
    return undefined;
  }

  private parseFavorite(favorite: unknown): UsableAction | undefined {
    const { data } = favoriteSchema.safeParse(favorite);
    const feedUrl = data && repairFeedUrl(data.podcast_url);
    const enclosureUrl = data && repairEnclosureUrl(data.url);
    if (!data || feedUrl === undefined || enclosureUrl === undefined) {
      const reason = feedUrl === undefined ? 'unusable_podcast' : 'unusable_episode';
      this.skipped.add('favourite', favorite, data ? reason : 'missing_key');
      return undefined;
    }
    const statuses = { favoriteStatus: { value: true, at: oldestTime } };
    return { podcast: data.podcast_url, feedUrl, entry: { feedUrl, enclosureUrl, statuses } };
  }

  private callService<C extends Rpc>(contract: C, request: RequestOf<C>): Promise<ReplyOf<C>> {
    return callUntilAvailable(this.client, contract, request, { stopped: this.stopSignal });
  }
}

/** Gives an action without a time the oldest time, so that a repeated import changes nothing. */
function withOldestTime(action: UsableAction): UsableAction {
  const statuses = Object.entries(action.entry.statuses).map(([name, status]) => [
    name,
    { at: oldestTime, ...status },
  ]);
  return {
    ...action,
    entry: { ...action.entry, statuses: Object.fromEntries(statuses) as ActionEntry['statuses'] },
  };
}
