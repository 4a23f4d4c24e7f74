import { isIP } from 'node:net';
import { areAlikeUrls, faultInHttpUrl } from '#contracts';
import { isPrivate } from '../feed-address.js';
import type { FeedDocument } from '../document/feed-document.js';
import type { Outcome } from './feed-fetch.js';

const dayMs = 86_400_000;
/** Sightings of a candidate, and days from the first to the last, that suffice as a proof. */
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
  let end = url;
  for (const { status, url: next } of outcome.redirects) {
    if (status !== 301 && status !== 308 && !isHttpsUpgrade(end, next)) break;
    end = next;
  }
  const document = outcome.kind === 'document' ? outcome.document : undefined;
  const named = end === url ? (document?.newFeedUrl ?? url) : end;
  // The document at the end of the redirects names the old URL as the new one.
  const pointsBack = end !== url && document?.newFeedUrl === url;
  return !pointsBack && canMove(url, named) ? named : undefined;
}

function isHttpsUpgrade(from: string, to: string): boolean {
  const [one, other] = [new URL(from), new URL(to)];
  one.protocol = 'https:';
  return from.startsWith('http:') && other.protocol === 'https:' && one.href === other.href;
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
 * Returns the move with the sighting of one more fetch. A candidate is proven immediately if the
 * two feeds are the same, otherwise after three sightings over at least seven days. Both require a
 * whole document.
 *
 * @param isWhole true if the candidate's document was whole.
 * @param isSame compares the two feeds.
 */
export function nextMove(
  before: Move | null,
  candidate: string,
  { now, isWhole, isSame }: { now: number; isWhole: boolean; isSame: () => boolean },
): Move {
  const isKnown = before?.to === candidate;
  const [seen, since] = isKnown ? [before.seen + 1, before.since] : [1, now];
  const isOld = seen >= provenSightings && now - since >= provenDays * dayMs;
  const isProven = (isKnown && before.isProven) || (isWhole && (isOld || isSame()));
  return { to: candidate, seen, since, isProven };
}

/**
 * Returns true if two feeds have similar URLs, the same declared guid, or at least three and half
 * of the newest 20 episodes in common.
 */
export function areSameFeeds(
  from: ComparableFeed & { readonly url: string },
  to: ComparableFeed & { readonly url: string },
): boolean {
  if (areAlikeUrls(from.url, to.url)) return true;
  if (from.declaredGuid && from.declaredGuid === to.declaredGuid) return true;
  const newest = from.guids.slice(0, comparedItems);
  const guids = new Set(to.guids);
  const equal = newest.filter((guid) => guids.has(guid)).length;
  return equal >= minEqualItems && equal * 2 >= newest.length;
}

/** Returns the content of a document by which two feeds are compared. */
export function comparableOf({ items, declaredGuid }: FeedDocument): ComparableFeed {
  const dated = items.toSorted(
    (one, other) => (other.publishDate?.getTime() ?? 0) - (one.publishDate?.getTime() ?? 0),
  );
  return { guids: dated.flatMap(({ guid }) => guid ?? []), declaredGuid };
}
