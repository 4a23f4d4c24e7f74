import type { Feed } from '#contracts';
import type { KnownSubscriptions } from './known-subscriptions.js';
import { MergeBudget } from './merge.budget.js';
import { applyEntry, type JudgedEntry, meaningOf, type UsableEntry } from './subscribe.rule.js';
import { isLive, type SubscriptionRow } from './subscription.row.js';

/** What a client of the gpodder API asks for, by feed URLs alone. */
export interface AskedFeeds {
  add: readonly JudgedEntry[];
  remove: readonly JudgedEntry[];
  know: readonly JudgedEntry[];
}

/** The subscription that each means. */
export type MeantFeeds = Record<'add' | 'remove' | 'know', (SubscriptionRow | undefined)[]>;

/**
 * Subscribes and unsubscribes (gpodder API). Only what changes something is one: clients send whole lists again and
 * again. One whose deletion is PENDING is subscribed until that is carried out, so it is not asked for here.
 */
export function applyFeeds(known: KnownSubscriptions, { add, remove, know }: AskedFeeds): MeantFeeds {
  const added = add.map((entry) => (entry.fault ? undefined : subscribe(known, entry)));
  // What is in both, by different URLs, is subscribed.
  const kept = new Set(added.flatMap((row) => (row ? [row.id] : [])));
  const removed = remove.map((entry) => (entry.fault ? undefined : live(meaningOf(known, entry).row)));
  for (const row of removed) if (row?.isSubscribed && !kept.has(row.id)) known.setSubscribed(row, false);
  const met = know.map((entry) => (entry.fault ? undefined : introduce(known, entry)));
  return { add: added, remove: removed, know: met };
}

/** The subscription that a URL means, a deleted one aside. */
export function findFeed(known: KnownSubscriptions, entry: JudgedEntry): SubscriptionRow | undefined {
  return entry.fault ? undefined : live(meaningOf(known, entry).row);
}

function subscribe(known: KnownSubscriptions, entry: UsableEntry): SubscriptionRow | undefined {
  const { row, url } = meaningOf(known, entry);
  if (!row?.isSubscribed) {
    const outcome = applyEntry(known, entry, new MergeBudget());
    return 'code' in outcome ? undefined : outcome;
  }
  // The client knows it by this URL, and is to be told by this URL when it is unsubscribed.
  if (url !== undefined && known.quota.allows({ urls: 1 })) known.nameUrl(row, entry.feedUrl);
  return row;
}

/** One that is only spoken of: made where there is none, so that it has episodes, and not subscribed. */
function introduce(known: KnownSubscriptions, entry: UsableEntry): SubscriptionRow | undefined {
  const { row } = meaningOf(known, entry);
  if (row) return live(row);
  if (!known.quota.allows({ live: 1, guids: 1, urls: 1 })) return undefined;
  return known.introduce(entry.feedUrl, entry.derivedGuid, false);
}

const live = (row: SubscriptionRow | undefined) => (isLive(row) ? row : undefined);

/** As clients' data are kept by it. @param first the guids that some had first, by their ids. */
export function toFeed(row: SubscriptionRow | undefined, first: ReadonlyMap<number, string>): Feed | null {
  if (!row) return null;
  const { id, feedUrl, guid } = row;
  const firstGuid = first.get(id) ?? guid;
  return { feedUrl, guid, ...(firstGuid !== guid && { firstGuid }) };
}

/** A URL that a subscription has; its text is absent where it was asked for by it. */
export interface DecodableUrl {
  url: string | null;
  /** The SHA-256 of it, in hexadecimal. */
  key: string;
  subscriptionId: number;
  live: boolean;
}

/** A URL without its percent-encoding: clients are known to send feeds' URLs back so. One that can't be decoded is itself. */
export function decoded(url: string): string {
  try {
    return decodeURIComponent(url);
  } catch {
    return url;
  }
}

/**
 * Finds for URLs that mean nothing the one subscription whose URL is the same without percent-encoding, a live one before
 * a deleted one.
 *
 * @param asked URLs, by the key of what each is {@link decoded}.
 * @returns for each URL that is found one that the subscription has.
 */
export function matchDecoded(
  asked: ReadonlyMap<string, readonly string[]>,
  found: readonly DecodableUrl[],
  keyOf: (url: string) => string,
): Map<string, string> {
  const candidates = new Map<string, DecodableUrl[]>();
  for (const one of found) {
    const key = one.url === null ? one.key : keyOf(decoded(one.url));
    if (asked.has(key)) candidates.set(key, [...(candidates.get(key) ?? []), one]);
  }
  const matched = new Map<string, string>();
  for (const [key, all] of candidates) {
    const alive = all.filter((one) => one.live);
    const [best, ...rest] = alive.length > 0 ? alive : all;
    const sent = asked.get(key) ?? [];
    const url = best?.url ?? decoded(sent[0] as string);
    if (rest.every((other) => other.subscriptionId === best?.subscriptionId))
      for (const one of sent) matched.set(one, url);
  }
  return matched;
}
