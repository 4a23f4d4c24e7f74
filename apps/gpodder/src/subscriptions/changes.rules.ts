import { setImmediate as nextTick } from 'node:timers/promises';
import { type changeFeeds, Failure, type Feed, maxFeeds, type RequestOf } from '#contracts';
import { repairFeedUrl, UrlUpdates } from '#gpodder-data';
import { checkEntryCount } from '../http/input.js';

/** Entries that are parsed in one event loop iteration, before other requests can run. */
const entriesPerIteration = 500;

/**
 * Maximum feeds that one upload adds, and maximum that it removes: the quota of a user. An upload
 * with more is rejected as a whole.
 */
const maxFeedsPerUpload = 10_000;

/**
 * Maximum feeds that one message to the service adds, and maximum that it removes, because longer
 * writes delay other writes. Exception: an upload that replaces the whole list is always one
 * message, because the message unsubscribes from all other feeds.
 */
const maxPerMessage = 250;

/** Feeds that one message to the service adds and removes. */
type ChangeMessage = Pick<RequestOf<typeof changeFeeds>, 'add' | 'titles' | 'remove'>;

/** Repaired feed URLs, each with the sent URLs from which it was repaired. */
type SentFeeds = ReadonlyMap<string, readonly string[]>;

/** The parsed changes of an upload. */
export interface FeedChanges {
  readonly add: SentFeeds;
  /** Titles of added feeds by repaired URL. */
  readonly titles: ReadonlyMap<string, string>;
  readonly remove: SentFeeds;
  /** Sent URLs that cannot be repaired to a valid feed URL. */
  readonly unusable: readonly string[];
}

/**
 * Parses the changes of an upload (docs/reference/gpodder.md, "Subscriptions").
 *
 * @throws Failure `invalid` for a list or entry of a wrong type, or a URL in both lists; TooLarge.
 */
export async function parseChanges(
  body: Readonly<Record<string, unknown>>,
  maxEntries: number,
): Promise<FeedChanges> {
  const lists = [requireList(body['add']), requireList(body['remove'])] as const;
  checkEntryCount(lists[0].length + lists[1].length, maxEntries);
  const [addedUrls, removedUrls] = [requireStrings(lists[0]), requireStrings(lists[1])];
  const addedUrlSet = new Set(addedUrls);
  if (removedUrls.some((url) => addedUrlSet.has(url))) throw new Failure('invalid');
  const add = await repairUrls(addedUrls, maxFeedsPerUpload);
  const remove = await repairUrls(removedUrls, maxFeedsPerUpload);
  // A feed that is in both lists under different sent URLs is added and not removed.
  for (const url of add.feeds.keys()) remove.feeds.delete(url);
  const unusable = [...add.unusable, ...remove.unusable];
  return { add: add.feeds, titles: new Map(), remove: remove.feeds, unusable };
}

/**
 * Parses a whole list, which replaces all subscriptions.
 *
 * @throws TooLarge; Failure `invalid` if the list has entries but no usable one, because the list
 *   would remove all subscriptions. Also `invalid` for an object without a URL, because its feed
 *   would be removed.
 */
export async function parseWholeList(
  entries: readonly unknown[],
  maxEntries: number,
): Promise<FeedChanges> {
  checkEntryCount(entries.length, maxEntries);
  const sentEntries = entries.map((entry) => (hasUrl(entry) ? entry : { url: entry }));
  const { feeds, unusable } = await repairUrls(
    requireStrings(sentEntries.map(({ url }) => url)),
    maxFeeds,
  );
  if (feeds.size === 0 && entries.length > 0) throw new Failure('invalid');
  return { add: feeds, titles: mapTitles(sentEntries, feeds), remove: new Map(), unusable };
}

/** An entry of a whole list. A client can also send just the URL instead of the object. */
interface ListEntry {
  readonly url: unknown;
  readonly title?: unknown;
}

function hasUrl(entry: unknown): entry is ListEntry {
  return typeof entry === 'object' && entry !== null && 'url' in entry;
}

/** Returns titles by repaired URL. Ignores a title that is equal to its sent URL. */
function mapTitles(entries: readonly ListEntry[], feeds: SentFeeds): Map<string, string> {
  const titlesBySentUrl = new Map<unknown, string>();
  for (const { url, title } of entries)
    if (typeof title === 'string' && title !== '' && title !== url) titlesBySentUrl.set(url, title);
  const titles = new Map<string, string>();
  if (titlesBySentUrl.size === 0) return titles;
  for (const [repairedUrl, urls] of feeds) {
    const title = urls.map((url) => titlesBySentUrl.get(url)).find((found) => found !== undefined);
    if (title !== undefined) titles.set(repairedUrl, title);
  }
  return titles;
}

/**
 * Returns the messages of an upload in order: one message if both lists fit. Otherwise messages
 * with removals come first, so that a feed in both lists under different URLs ends up subscribed. A
 * whole list is one message, because the service unsubscribes from all feeds that the list lacks.
 */
export function splitIntoMessages(
  { add, titles, remove }: FeedChanges,
  isWholeList: boolean,
): ChangeMessage[] {
  const [addedUrls, removedUrls] = [[...add.keys()], [...remove.keys()]];
  const toAddMessage = (urlGroup: string[]) => ({
    add: urlGroup,
    ...(titles.size > 0 && { titles: urlGroup.map((url) => titles.get(url) ?? null) }),
  });
  if (isWholeList || Math.max(addedUrls.length, removedUrls.length) <= maxPerMessage)
    return [{ ...toAddMessage(addedUrls), remove: removedUrls }];
  return [
    ...splitUrls(removedUrls).map((urlGroup) => ({ add: [], remove: urlGroup })),
    ...splitUrls(addedUrls).map((urlGroup) => ({ ...toAddMessage(urlGroup), remove: [] })),
  ];
}

/** Splits URLs into groups of at most {@link maxPerMessage}. */
function splitUrls(urls: string[]): string[][] {
  const groupCount = Math.ceil(urls.length / maxPerMessage);
  return Array.from({ length: groupCount }, (_, groupIndex) =>
    urls.slice(groupIndex * maxPerMessage, (groupIndex + 1) * maxPerMessage),
  );
}

/** Returns the answer's `update_urls`. @param found feeds of the sent URLs, in their order. */
export function toUrlUpdates(
  { add, remove, unusable }: FeedChanges,
  found: { readonly add: readonly (Feed | null)[]; readonly remove: readonly (Feed | null)[] },
): [string, string][] {
  const updates = new UrlUpdates();
  for (const sentUrl of unusable) updates.addRepaired(sentUrl, undefined);
  const addAll = (sentFeeds: SentFeeds, matches: readonly (Feed | null)[]) => {
    [...sentFeeds].forEach(([repairedUrl, sentUrls], index) => {
      for (const sentUrl of sentUrls) {
        updates.addRepaired(sentUrl, repairedUrl);
        const feed = matches[index];
        if (feed) updates.addMoved(sentUrl, repairedUrl, feed.feedUrl);
      }
    });
  };
  addAll(add, found.add);
  addAll(remove, found.remove);
  return updates.pairs;
}

/** Returns the list, by default an empty list. @throws Failure `invalid` for other types. */
function requireList(list: unknown): readonly unknown[] {
  if (list === undefined) return [];
  if (!Array.isArray(list)) throw new Failure('invalid');
  return list;
}

/**
 * Returns the strings of a list, without numbers and other values that cannot be a feed.
 *
 * @throws Failure `invalid` for an object or array, which could contain a feed.
 */
function requireStrings(entries: readonly unknown[]): string[] {
  if (entries.some((entry) => typeof entry === 'object' && entry !== null))
    throw new Failure('invalid');
  return entries.filter((entry) => typeof entry === 'string');
}

/** Repairs URLs, and groups the sent URLs by repaired URL. @throws TooLarge above `max` feeds. */
async function repairUrls(
  urls: readonly string[],
  max: number,
): Promise<{ feeds: Map<string, string[]>; unusable: string[] }> {
  const feeds = new Map<string, string[]>();
  const unusable: string[] = [];
  let parsedCount = 0;
  for (const sentUrl of new Set(urls)) {
    if (++parsedCount % entriesPerIteration === 0) await nextTick();
    const repairedUrl = repairFeedUrl(sentUrl);
    const sentUrls = repairedUrl === undefined ? unusable : feeds.get(repairedUrl);
    if (sentUrls) sentUrls.push(sentUrl);
    else if (repairedUrl !== undefined) feeds.set(repairedUrl, [sentUrl]);
    checkEntryCount(feeds.size, max);
  }
  return { feeds, unusable };
}
