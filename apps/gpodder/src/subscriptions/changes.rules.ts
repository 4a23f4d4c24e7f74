import { setImmediate as nextTick } from 'node:timers/promises';
import { Failure, type Feed, mostFeeds } from '#contracts';
import { repairFeedUrl, UrlUpdates } from '../actions/url.repair.js';
import { checkEntryCount } from '../http/input.js';

/** Entries per event loop iteration, so that other requests run in between. */
const perIteration = 500;

/** Maximum feeds that an upload adds, and that it removes: the quota of a user. */
const maxChanged = 10_000;

/** Maximum feeds that one message adds, and that it removes. Longer writes would delay others. */
const perMessage = 250;

/** Repaired URLs, each with its sent URLs. */
type SentFeeds = ReadonlyMap<string, readonly string[]>;

/** The changes of an upload. */
export interface FeedChanges {
  readonly add: SentFeeds;
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
  return { add: add.feeds, remove: remove.feeds, unusable: [...add.unusable, ...remove.unusable] };
}

/**
 * Parses a whole list, which replaces all subscriptions in one message.
 *
 * @throws Failure `invalid` for entries without a usable one, which would remove all subscriptions.
 */
export async function readWholeList(
  entries: readonly unknown[],
  maxEntries: number,
): Promise<FeedChanges> {
  checkEntryCount(entries.length, maxEntries);
  const { feeds, unusable } = await feedsOf(stringsOf(entries), mostFeeds);
  if (feeds.size === 0 && entries.length > 0) throw new Failure('invalid');
  return { add: feeds, remove: new Map(), unusable };
}

/**
 * Returns the messages of an upload in order: one if it fits. Otherwise removals come first. A feed
 * in both lists under different URLs is therefore subscribed at the end.
 */
export function messagesOf({ add, remove }: FeedChanges): { add: string[]; remove: string[] }[] {
  const [added, removed] = [[...add.keys()], [...remove.keys()]];
  if (Math.max(added.length, removed.length) <= perMessage)
    return [{ add: added, remove: removed }];
  return [
    ...split(removed).map((part) => ({ add: [], remove: part })),
    ...split(added).map((part) => ({ add: part, remove: [] })),
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

/** Returns the strings of a list, without other entries. */
function stringsOf(entries: readonly unknown[]): string[] {
  return entries.filter((entry) => typeof entry === 'string');
}

/** Repairs URLs. @throws TooLarge for more than `max` feeds. */
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
