import { setImmediate as nextTick } from 'node:timers/promises';
import { type changeFeeds, Failure, type Feed, maxFeeds, type RequestOf } from '#contracts';
import { repairFeedUrl, UrlUpdates } from '#gpodder-data';
import { checkEntryCount } from '../http/input.js';

/** Number of entries after which other requests can run. */
const perIteration = 500;

/** Maximum feeds that an upload adds, and that it removes: the quota of a user. */
const maxChanged = 10_000;

/**
 * Maximum feeds that one message adds, and that it removes. Longer writes delay other writes. A
 * whole list is one message of any length.
 */
const perMessage = 250;

type Message = Pick<RequestOf<typeof changeFeeds>, 'add' | 'titles' | 'remove'>;

/** Repaired feed URLs, each with the sent URLs from which it was repaired. */
type SentFeeds = ReadonlyMap<string, readonly string[]>;

/** The changes of an upload. */
export interface FeedChanges {
  readonly add: SentFeeds;
  /** Titles of added feeds by repaired URL. */
  readonly titles: ReadonlyMap<string, string>;
  readonly remove: SentFeeds;
  /** The sent URLs that cannot be repaired. */
  readonly unusable: readonly string[];
}

/**
 * Parses the changes of an upload (docs/reference/gpodder.md, "Subscriptions").
 *
 * @throws Failure `invalid` for a list or entry of a wrong type, or a URL in both lists; TooLarge.
 */
export async function readChanges(
  body: Readonly<Record<string, unknown>>,
  maxEntries: number,
): Promise<FeedChanges> {
  const lists = [listOf(body['add']), listOf(body['remove'])] as const;
  checkEntryCount(lists[0].length + lists[1].length, maxEntries);
  const [added, removed] = [stringsOf(lists[0]), stringsOf(lists[1])];
  const addedSet = new Set(added);
  if (removed.some((url) => addedSet.has(url))) throw new Failure('invalid');
  const add = await feedsOf(added, maxChanged);
  const remove = await feedsOf(removed, maxChanged);
  // A feed in both lists under different sent URLs is added.
  for (const url of add.feeds.keys()) remove.feeds.delete(url);
  const unusable = [...add.unusable, ...remove.unusable];
  return { add: add.feeds, titles: new Map(), remove: remove.feeds, unusable };
}

/**
 * Parses a whole list, which replaces all subscriptions.
 *
 * @throws Failure `invalid` if entries were sent but none is usable: the list would remove all
 *   subscriptions; also for an object without a URL, whose feed would be removed; TooLarge.
 */
export async function readWholeList(
  entries: readonly unknown[],
  maxEntries: number,
): Promise<FeedChanges> {
  checkEntryCount(entries.length, maxEntries);
  const sent = entries.map((entry) => (hasUrl(entry) ? entry : { url: entry }));
  const { feeds, unusable } = await feedsOf(stringsOf(sent.map(({ url }) => url)), maxFeeds);
  if (feeds.size === 0 && entries.length > 0) throw new Failure('invalid');
  return { add: feeds, titles: titlesOf(sent, feeds), remove: new Map(), unusable };
}

/** An entry of a whole list. A client can also send just the URL instead of the object. */
interface SentFeed {
  readonly url: unknown;
  readonly title?: unknown;
}

function hasUrl(entry: unknown): entry is SentFeed {
  return typeof entry === 'object' && entry !== null && 'url' in entry;
}

/** Returns the titles of feeds. A title equal to its sent URL is ignored. */
function titlesOf(entries: readonly SentFeed[], feeds: SentFeeds): Map<string, string> {
  const sent = new Map<unknown, string>();
  for (const { url, title } of entries)
    if (typeof title === 'string' && title !== '' && title !== url) sent.set(url, title);
  const titles = new Map<string, string>();
  if (sent.size === 0) return titles;
  for (const [used, urls] of feeds) {
    const title = urls.map((url) => sent.get(url)).find((found) => found !== undefined);
    if (title !== undefined) titles.set(used, title);
  }
  return titles;
}

/**
 * Returns the messages of an upload in order: one message if both lists fit into it. Otherwise the
 * removals come first, so that a feed in both lists under different URLs ends up subscribed. A
 * whole list is one message, because the service unsubscribes from all feeds that it lacks.
 */
export function messagesOf({ add, titles, remove }: FeedChanges, isWholeList: boolean): Message[] {
  const [added, removed] = [[...add.keys()], [...remove.keys()]];
  const adding = (part: string[]) => ({
    add: part,
    ...(titles.size > 0 && { titles: part.map((url) => titles.get(url) ?? null) }),
  });
  if (isWholeList || Math.max(added.length, removed.length) <= perMessage)
    return [{ ...adding(added), remove: removed }];
  return [
    ...split(removed).map((part) => ({ add: [], remove: part })),
    ...split(added).map((part) => ({ ...adding(part), remove: [] })),
  ];
}

function split(urls: string[]): string[][] {
  const count = Math.ceil(urls.length / perMessage);
  return Array.from({ length: count }, (_, part) =>
    urls.slice(part * perMessage, (part + 1) * perMessage),
  );
}

/** Returns the `update_urls` of an upload. @param found the feeds of its URLs, in their order. */
export function updatesOf(
  { add, remove, unusable }: FeedChanges,
  found: { readonly add: readonly (Feed | null)[]; readonly remove: readonly (Feed | null)[] },
): [string, string][] {
  const updates = new UrlUpdates();
  for (const sent of unusable) updates.addRepaired(sent, undefined);
  const addAll = (sentFeeds: SentFeeds, matches: readonly (Feed | null)[]) => {
    [...sentFeeds].forEach(([used, sentUrls], index) => {
      for (const sent of sentUrls) {
        updates.addRepaired(sent, used);
        const feed = matches[index];
        if (feed) updates.addMoved(sent, used, feed.feedUrl);
      }
    });
  };
  addAll(add, found.add);
  addAll(remove, found.remove);
  return updates.pairs;
}

/** Returns a list; an empty one if it is absent. @throws Failure `invalid` for another type. */
function listOf(list: unknown): readonly unknown[] {
  if (list === undefined) return [];
  if (!Array.isArray(list)) throw new Failure('invalid');
  return list;
}

/**
 * Returns the strings of a list, without numbers and other values that cannot be a feed.
 *
 * @throws Failure `invalid` for an object or array, which could contain a feed.
 */
function stringsOf(entries: readonly unknown[]): string[] {
  if (entries.some((entry) => typeof entry === 'object' && entry !== null))
    throw new Failure('invalid');
  return entries.filter((entry) => typeof entry === 'string');
}

/** Repairs URLs, and groups the sent URLs by repaired URL. @throws TooLarge above `max` feeds. */
async function feedsOf(
  urls: readonly string[],
  max: number,
): Promise<{ feeds: Map<string, string[]>; unusable: string[] }> {
  const feeds = new Map<string, string[]>();
  const unusable: string[] = [];
  let seen = 0;
  for (const sent of new Set(urls)) {
    if (++seen % perIteration === 0) await nextTick();
    const used = repairFeedUrl(sent);
    const sentUrls = used === undefined ? unusable : feeds.get(used);
    if (sentUrls) sentUrls.push(sent);
    else if (used !== undefined) feeds.set(used, [sent]);
    checkEntryCount(feeds.size, max);
  }
  return { feeds, unusable };
}
