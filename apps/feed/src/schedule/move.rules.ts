import { isIP } from 'node:net';
import { areAlikeUrls, faultInHttpUrl } from '#contracts';
import { isPrivate } from '../feed-address.js';
import type { FeedDocument } from '../document/feed-document.js';
import type { Outcome } from './feed-fetch.js';

const dayMs = 86_400_000;
/** A candidate for a new URL is proven by this many sightings over at least this many days. */
const [provenSightings, provenDays] = [3, 7];
/** Number of newest episodes to compare, and minimum number of equal guids among them. */
const [comparedItems, minEqualItems] = [20, 3];

/** A possible move of a feed: a candidate for its new URL, with its sightings. */
export interface Move {
  /** The candidate for the new URL. */
  readonly to: string;
  /** Number of fetches that named the candidate. */
  readonly seen: number;
  /** Time of the first fetch that named the candidate, in milliseconds since 1970. */
  readonly since: number;
  /** True if the move can be applied to followers. */
  readonly isProven: boolean;
}

/** The content of a feed by which two feeds are compared. */
export interface ComparableFeed {
  /** The guids of the episodes, newest first. */
  readonly guids: readonly string[];
  readonly declaredGuid?: string | null | undefined;
}

/**
 * Returns the URL that a feed has moved to according to its server: the end of the leading
 * permanent redirects (301, 308, or to https with the same host and path), else
 * `itunes:new-feed-url`. Returns `undefined` without such a URL, or if {@link canMove} forbids it.
 */
export function candidateOf(url: string, outcome: Outcome): string | undefined {
  if (outcome.kind === 'failed') return undefined;
  let redirectEnd = url;
  for (const { status, url: next } of outcome.redirects) {
    if (status !== 301 && status !== 308 && !isHttpsUpgrade(redirectEnd, next)) break;
    redirectEnd = next;
  }
  const document = outcome.kind === 'document' ? outcome.document : undefined;
  const candidate = redirectEnd === url ? (document?.newFeedUrl ?? url) : redirectEnd;
  // The document at the end of the redirects names the old URL as the new one.
  const pointsBack = redirectEnd !== url && document?.newFeedUrl === url;
  return !pointsBack && canMove(url, candidate) ? candidate : undefined;
}

function isHttpsUpgrade(from: string, to: string): boolean {
  const [source, target] = [new URL(from), new URL(to)];
  source.protocol = 'https:';
  return from.startsWith('http:') && target.protocol === 'https:' && source.href === target.href;
}

/**
 * Returns true if a feed can move to a URL. Moves from or to private feeds or IP addresses, and
 * from https to http, are not allowed.
 */
export function canMove(from: string, to: unknown): to is string {
  if (typeof to !== 'string' || to === from) return false;
  if (faultInHttpUrl(to) !== undefined || isPrivate(from) || isPrivate(to)) return false;
  if (from.startsWith('https:') && !to.startsWith('https:')) return false;
  return [from, to].every((url) => {
    const { hostname } = new URL(url);
    return !hostname.startsWith('[') && isIP(hostname) === 0;
  });
}

/**
 * Returns the move after a fetch that named a candidate. A candidate is proven immediately if the
 * two feeds are the same, otherwise after three sightings over at least seven days. Both require a
 * whole document.
 *
 * @param before the move before this fetch; null without a candidate.
 * @param isWhole true if the candidate's document was whole.
 * @param isSame compares the two feeds.
 */
export function nextMove(
  before: Move | null,
  candidate: string,
  { now, isWhole, isSame }: { now: number; isWhole: boolean; isSame: () => boolean },
): Move {
  const isSameCandidate = before?.to === candidate;
  const [seen, since] = isSameCandidate ? [before.seen + 1, before.since] : [1, now];
  const hasEnoughSightings = seen >= provenSightings && now - since >= provenDays * dayMs;
  const isProven =
    (isSameCandidate && before.isProven) || (isWhole && (hasEnoughSightings || isSame()));
  return { to: candidate, seen, since, isProven };
}

/**
 * Returns true if two feeds have similar URLs, the same declared guid, or enough common episodes:
 * at least three, and at least half of the newest 20 of `from`.
 */
export function areSameFeeds(
  from: ComparableFeed & { readonly url: string },
  to: ComparableFeed & { readonly url: string },
): boolean {
  if (areAlikeUrls(from.url, to.url)) return true;
  if (from.declaredGuid && from.declaredGuid === to.declaredGuid) return true;
  const newest = from.guids.slice(0, comparedItems);
  const guids = new Set(to.guids);
  const equalCount = newest.filter((guid) => guids.has(guid)).length;
  return equalCount >= minEqualItems && equalCount * 2 >= newest.length;
}

/** Returns the content of a document by which two feeds are compared. */
export function comparableOf({ items, declaredGuid }: FeedDocument): ComparableFeed {
  const newestFirst = items.toSorted(
    (one, other) => (other.publishDate?.getTime() ?? 0) - (one.publishDate?.getTime() ?? 0),
  );
  return { guids: newestFirst.flatMap(({ guid }) => guid ?? []), declaredGuid };
}
