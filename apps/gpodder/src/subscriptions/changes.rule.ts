import { setImmediate as nextTick } from 'node:timers/promises';
import { type changeFeeds, Failure, type Feed, mostFeeds, type RequestOf } from '#contracts';
import { repairFeedUrl, UrlUpdates } from '../actions/url.repair.js';
import { limitEntries } from '../http/input.js';

/** Entries per event loop iteration, so that other requests run in between. */
const perTick = 500;

/** Maximum feeds that an upload adds, and that it removes: the maximum of a user. */
const mostChanged = 10_000;

/** Maximum feeds that one message adds, and that it removes. Larger writes would delay others. */
const perMessage = 250;

type Part = Pick<RequestOf<typeof changeFeeds>, 'add' | 'titles' | 'remove'>;

/** Repaired URLs, each once, with the sent URLs for it. */
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
 * @throws Failure `invalid` for a wrong type, or the same URL in both lists.
 */
export async function readChanges(
  body: Readonly<Record<string, unknown>>,
  mostEntries: number,
): Promise<FeedChanges> {
  const lists = [listOf(body['add']), listOf(body['remove'])] as const;
  limitEntries(lists[0].length + lists[1].length, mostEntries);
  const [added, removed] = [textsOf(lists[0]), textsOf(lists[1])];
  const adds = new Set(added);
  if (removed.some((url) => adds.has(url))) throw new Failure('invalid');
  const add = await feedsOf(added, mostChanged);
  const remove = await feedsOf(removed, mostChanged);
  // Different sent URLs can be the same feed. Then it is added.
  for (const url of add.feeds.keys()) remove.feeds.delete(url);
  const unusable = [...add.unusable, ...remove.unusable];
  return { add: add.feeds, titles: new Map(), remove: remove.feeds, unusable };
}

/**
 * Parses a whole list, which one message replaces.
 *
 * @throws Failure `invalid` if it has entries but no usable one, because an empty list is not
 *   intended.
 */
export async function readWhole(
  entries: readonly unknown[],
  mostEntries: number,
): Promise<FeedChanges> {
  limitEntries(entries.length, mostEntries);
  const sent = entries.map((entry) => (hasUrl(entry) ? entry : { url: entry }));
  const { feeds, unusable } = await feedsOf(textsOf(sent.map(({ url }) => url)), mostFeeds);
  if (feeds.size === 0 && entries.length > 0) throw new Failure('invalid');
  return { add: feeds, titles: titlesOf(sent, feeds), remove: new Map(), unusable };
}

/** An entry of a whole list, which can also be a URL alone. */
interface SentFeed {
  readonly url: unknown;
  readonly title?: unknown;
}

function hasUrl(entry: unknown): entry is SentFeed {
  return typeof entry === 'object' && entry !== null && 'url' in entry;
}

/** Returns the titles of feeds. A title that is the URL as sent is none. */
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
 * Returns the messages of an upload in order: one write if it fits. Otherwise removals come first,
 * so that a feed in both lists under different URLs ends up subscribed.
 */
export function partsOf({ add, titles, remove }: FeedChanges): Part[] {
  const [added, removed] = [[...add.keys()], [...remove.keys()]];
  const adding = (part: string[]) => ({
    add: part,
    ...(titles.size > 0 && { titles: part.map((url) => titles.get(url) ?? null) }),
  });
  if (Math.max(added.length, removed.length) <= perMessage)
    return [{ ...adding(added), remove: removed }];
  return [
    ...cut(removed).map((part) => ({ add: [], remove: part })),
    ...cut(added).map((part) => ({ ...adding(part), remove: [] })),
  ];
}

function cut(urls: string[]): string[][] {
  const count = Math.ceil(urls.length / perMessage);
  return Array.from({ length: count }, (_, part) =>
    urls.slice(part * perMessage, (part + 1) * perMessage),
  );
}

/** Returns the `update_urls` of an upload from the feeds that the service found for its URLs. */
export function updatesOf(
  { add, remove, unusable }: FeedChanges,
  found: { readonly add: readonly (Feed | null)[]; readonly remove: readonly (Feed | null)[] },
): [string, string][] {
  const updates = new UrlUpdates();
  for (const sent of unusable) updates.repaired(sent, undefined);
  const note = (feeds: SentFeeds, meant: readonly (Feed | null)[]) => {
    [...feeds].forEach(([used, all], index) => {
      for (const sent of all) {
        updates.repaired(sent, used);
        const feed = meant[index];
        if (feed) updates.moved(sent, used, feed.feedUrl);
      }
    });
  };
  note(add, found.add);
  note(remove, found.remove);
  return updates.pairs;
}

/** Returns an optional list. */
function listOf(list: unknown): readonly unknown[] {
  if (list === undefined) return [];
  if (!Array.isArray(list)) throw new Failure('invalid');
  return list;
}

/** Returns the strings of a list and skips other entries. */
function textsOf(entries: readonly unknown[]): string[] {
  return entries.filter((entry) => typeof entry === 'string');
}

async function feedsOf(
  urls: readonly string[],
  most: number,
): Promise<{ feeds: Map<string, string[]>; unusable: string[] }> {
  const feeds = new Map<string, string[]>();
  const unusable: string[] = [];
  let seen = 0;
  for (const sent of new Set(urls)) {
    if (++seen % perTick === 0) await nextTick();
    const used = repairFeedUrl(sent);
    const same = used === undefined ? unusable : feeds.get(used);
    if (same) same.push(sent);
    else if (used !== undefined) feeds.set(used, [sent]);
    limitEntries(feeds.size, most);
  }
  return { feeds, unusable };
}
