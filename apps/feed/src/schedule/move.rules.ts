import { isIP } from 'node:net';
import { areAlikeUrls, faultInHttpUrl } from '#contracts';
import { isPrivate } from '../feed.address.js';
import type { FeedDocument } from '../document/feed.document.js';
import type { Outcome } from './feed.fetch.js';

const day = 86_400_000;
/** Sightings of a candidate, and days from the first to the last, that suffice as a proof. */
const [provenSightings, provenDays] = [3, 7];
/** Number of newest episodes to compare, and minimum number of equal guids among them. */
const [comparedItems, leastEqual] = [20, 3];

/** The sightings of one candidate for a new URL. Times are milliseconds since 1970. */
export interface Move {
  readonly to: string;
  readonly seen: number;
  readonly since: number;
  readonly isProven: boolean;
}

/** The content of a feed by which two feeds are compared. */
export interface Compared {
  readonly guids: readonly string[];
  readonly declaredGuid?: string | null | undefined;
}

/**
 * Returns the URL that a feed has moved to by the answers of its server: the end of the permanent
 * redirects (301, 308, or to https of the same host and path) that it starts with, else
 * `itunes:new-feed-url`. `undefined` if there is none, or if it is not allowed.
 */
export function candidateOf(url: string, outcome: Outcome): string | undefined {
  if (outcome.kind === 'failed') return undefined;
  let end = url;
  for (const { status, url: next } of outcome.redirects) {
    if (status !== 301 && status !== 308 && !isUpgrade(end, next)) break;
    end = next;
  }
  const document = outcome.kind === 'document' ? outcome.document : undefined;
  const named = end === url ? (document?.newFeedUrl ?? url) : end;
  // The document of the new URL names the old one.
  const pointsBack = end !== url && document?.newFeedUrl === url;
  return !pointsBack && canMove(url, named) ? named : undefined;
}

function isUpgrade(from: string, to: string): boolean {
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
 * Returns the sightings after a fetch. A new candidate is proven immediately if the two feeds are
 * the same, otherwise by three sightings in seven days.
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
  const isOld = seen >= provenSightings && now - since >= provenDays * day;
  const isProven = (isKnown && before.isProven) || (isWhole && (isOld || isSame()));
  return { to: candidate, seen, since, isProven };
}

/**
 * Returns true if two feeds have similar URLs, the same guid, or half of the episodes in common.
 */
export function areSameFeeds(
  from: Compared & { readonly url: string },
  to: Compared & { readonly url: string },
): boolean {
  if (areAlikeUrls(from.url, to.url)) return true;
  if (from.declaredGuid && from.declaredGuid === to.declaredGuid) return true;
  const newest = from.guids.slice(0, comparedItems);
  const guids = new Set(to.guids);
  const equal = newest.filter((guid) => guids.has(guid)).length;
  return equal >= leastEqual && equal * 2 >= newest.length;
}

/** Returns the content of a document to compare. */
export function comparedOf({ items, declaredGuid }: FeedDocument): Compared {
  const dated = items.toSorted(
    (one, other) => (other.publishDate?.getTime() ?? 0) - (one.publishDate?.getTime() ?? 0),
  );
  return { guids: dated.flatMap(({ guid }) => guid ?? []), declaredGuid };
}
