import { setImmediate as nextTick } from 'node:timers/promises';
import { Failure, type Feed, mostFeeds } from '#contracts';
import { repairFeedUrl, UrlUpdates } from '../actions/url.repair.js';
import { limitEntries } from '../http/input.js';

/** Entries that are looked at in one tick of the event loop, so that other requests run in between. */
const perTick = 500;

/** The most feeds that an upload adds, and that it removes: as many as a user may have. */
const mostChanged = 10_000;

/** The most feeds that one message of an upload adds, and that it removes: more in one write hold up others. */
const perMessage = 250;

/** URLs as the services take them, each once, with what the client sent for it. */
type SentFeeds = ReadonlyMap<string, readonly string[]>;

/** What a client wants to be changed, once all of it was read. */
export interface FeedChanges {
  readonly add: SentFeeds;
  readonly remove: SentFeeds;
  /** What was sent for URLs that can't be used. */
  readonly unusable: readonly string[];
}

/**
 * Reads the changes of an upload (docs/reference/gpodder.md, "Subscriptions").
 *
 * @param body an object.
 * @throws Failure `invalid` where a list is none, or both name the same URL.
 */
export async function readChanges(body: Readonly<Record<string, unknown>>, mostEntries: number): Promise<FeedChanges> {
  const lists = [listOf(body['add']), listOf(body['remove'])] as const;
  limitEntries(lists[0].length + lists[1].length, mostEntries);
  const [added, removed] = [textsOf(lists[0]), textsOf(lists[1])];
  const adds = new Set(added);
  if (removed.some((url) => adds.has(url))) throw new Failure('invalid');
  const add = await feedsOf(added, mostChanged);
  const remove = await feedsOf(removed, mostChanged);
  // Two that differ as they were sent may be the same feed; then it is added.
  for (const url of add.feeds.keys()) remove.feeds.delete(url);
  return { add: add.feeds, remove: remove.feeds, unusable: [...add.unusable, ...remove.unusable] };
}

/**
 * Reads a whole list, which is changed by one message.
 *
 * @throws Failure `invalid` where it has entries, but none that can be used: it was not meant to be an empty one.
 */
export async function readWhole(entries: readonly unknown[], mostEntries: number): Promise<FeedChanges> {
  limitEntries(entries.length, mostEntries);
  const { feeds, unusable } = await feedsOf(textsOf(entries), mostFeeds);
  if (feeds.size === 0 && entries.length > 0) throw new Failure('invalid');
  return { add: feeds, remove: new Map(), unusable };
}

/**
 * The messages of an upload, in their order: one, and so one write, where it fits. Else what is removed comes first, as what
 * both lists mean by different URLs is subscribed in the end.
 */
export function partsOf({ add, remove }: FeedChanges): { add: string[]; remove: string[] }[] {
  const [added, removed] = [[...add.keys()], [...remove.keys()]];
  if (Math.max(added.length, removed.length) <= perMessage) return [{ add: added, remove: removed }];
  return [
    ...cut(removed).map((part) => ({ add: [], remove: part })),
    ...cut(added).map((part) => ({ add: part, remove: [] })),
  ];
}

function cut(urls: string[]): string[][] {
  const count = Math.ceil(urls.length / perMessage);
  return Array.from({ length: count }, (_, part) => urls.slice(part * perMessage, (part + 1) * perMessage));
}

/** The `update_urls` of an upload, out of which subscriptions the service found its URLs to mean. */
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

/** A list that may be left out. */
function listOf(list: unknown): readonly unknown[] {
  if (list === undefined) return [];
  if (!Array.isArray(list)) throw new Failure('invalid');
  return list;
}

/** The texts of a list; other entries are skipped. */
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
