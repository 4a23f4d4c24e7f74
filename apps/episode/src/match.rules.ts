import { comparableUrl, unknownMetadata } from '#contracts';
import type { Identity } from './episode.rules.js';

/** Rank of a match of two episodes in one subscription, from 1, the most certain, to 4. */
export type Rank = 1 | 2 | 3 | 4;

/**
 * A lookup key: a searched episode matches a candidate that has an equal key. `kind` names the
 * fields of `texts`; the second text is empty for a key of one field.
 */
export interface MatchKey {
  rank: Rank;
  kind: string;
  texts: readonly [string, string];
}

/** Key kinds for searched episodes with an episode_guid and for those without. */
const [withGuid, withoutGuid] = ['with guid', 'without guid'] as const;
const kindsFor = (kind: string) => ({
  [withGuid]: `${withGuid} ${kind}`,
  [withoutGuid]: `${withoutGuid} ${kind}`,
});
const enclosureFor = kindsFor('enclosure');
const dateAndUrlFor = kindsFor('date and url');
const dateAndTitleFor = kindsFor('date and title');
const urlAndTitleFor = kindsFor('url and title');

/**
 * Returns the lookup keys of an episode. Two episodes of a subscription match if they share a key,
 * with the rank of that key. The lowest rank wins, then the lowest row id
 * (docs/reference/episodes.md, "Matching episodes"). `episode.match_keys` is the same rule in SQL.
 *
 * 1. Equal episode_guids.
 * 2. Equal enclosure_urls, if either episode has no episode_guid.
 * 3. Two equal fields of publish_date, episode_url and title, if either has no episode_guid.
 * 4. Different episode_guids, equal enclosure_urls, and one equal field of rank 3.
 *
 * Enclosure URLs are compared in their comparable form. Unknown values never match.
 *
 * Ranks 2 and 3 need different keys for the searched episode and for candidates. The searched
 * episode has one kind, by whether it has a guid. Every candidate has the kind of searched
 * episodes without a guid. A candidate without a guid also has the other kind.
 *
 * @param isCandidate false for the searched episode.
 * @param maxRank the highest rank to include.
 */
export function matchKeys(episode: Identity, isCandidate: boolean, maxRank: Rank = 4): MatchKey[] {
  const { episodeGuid, title, episodeUrl } = episode;
  const date = episode.publishDate === unknownMetadata.publishDate ? '' : episode.publishDate;
  const hasGuid = episodeGuid !== '';
  const keys: MatchKey[] = [];
  /** Adds a key unless one of its values is unknown. */
  const add = (rank: Rank, kind: string, text: string, other?: string) => {
    if (text !== '' && other !== '') keys.push({ rank, kind, texts: [text, other ?? ''] });
  };
  add(1, 'guid', episodeGuid);
  if (maxRank === 1) return keys;
  const enclosureUrl = comparableUrl(episode.enclosureUrl);
  const searched = [hasGuid ? withGuid : withoutGuid];
  const candidate = [withoutGuid, ...(hasGuid ? [] : [withGuid])];
  for (const side of isCandidate ? candidate : searched) {
    add(2, enclosureFor[side], enclosureUrl);
    add(3, dateAndUrlFor[side], date, episodeUrl);
    add(3, dateAndTitleFor[side], date, title);
    add(3, urlAndTitleFor[side], episodeUrl, title);
  }
  if (hasGuid) {
    add(4, 'enclosure and date', enclosureUrl, date);
    add(4, 'enclosure and url', enclosureUrl, episodeUrl);
    add(4, 'enclosure and title', enclosureUrl, title);
  }
  return keys;
}

/** An episode that can be matched. */
export interface IndexedEpisode extends Identity {
  readonly id: number;
  readonly subscriptionId: number;
}

interface RowSet {
  ids: Set<number>;
  /** `undefined` if it must be computed again. */
  lowest: number | undefined;
}
/** The ids of the rows under one key. A single row, the usual case, is a plain id. */
type Bucket = number | RowSet;

function lowest(bucket: Bucket | undefined): number | undefined {
  if (bucket === undefined || typeof bucket === 'number') return bucket;
  if (bucket.lowest === undefined && bucket.ids.size > 0) {
    bucket.lowest = Infinity;
    for (const id of bucket.ids) bucket.lowest = Math.min(bucket.lowest, id);
  }
  return bucket.lowest;
}

/** Upper bound of the numbers that replace texts. A pair (a, b) is encoded as a × maxTexts + b. */
const maxTexts = 2 ** 26;

/**
 * An index of episodes by {@link matchKeys} with lookups in constant time. It replaces each text by
 * a number.
 */
export class MatchIndex {
  private readonly numbers = new Map<string, number>();
  /** By subscription and kind of key. */
  private readonly buckets = new Map<number, Map<string, Map<number, Bucket>>>();

  /** @param maxRank the highest rank to find: 1 (by episode_guid only) or 4 (all). */
  constructor(private readonly maxRank: 1 | 4 = 4) {}

  /** Returns the match of the lowest rank, then of the lowest row id. */
  find(subscriptionId: number, searched: Identity): { rank: Rank; id: number } | undefined {
    const ofSubscription = this.buckets.get(subscriptionId);
    if (!ofSubscription) return undefined;
    let best: { rank: Rank; id: number } | undefined;
    for (const key of matchKeys(searched, false, this.maxRank)) {
      if (best && best.rank < key.rank) break;
      const id = lowest(ofSubscription.get(key.kind)?.get(this.numberOf(key)));
      if (id !== undefined && (!best || id < best.id)) best = { rank: key.rank, id };
    }
    return best;
  }

  /** Returns the row ids of episodes with an enclosure_url and no episode_guid, ascending. */
  findWithoutGuid(subscriptionId: number, enclosureUrl: string): number[] {
    // Only candidates without a guid are indexed under this key.
    const texts = [comparableUrl(enclosureUrl), ''] as const;
    const key: MatchKey = { rank: 2, kind: enclosureFor[withGuid], texts };
    const bucket = this.buckets.get(subscriptionId)?.get(key.kind)?.get(this.numberOf(key));
    if (bucket === undefined) return [];
    return typeof bucket === 'number' ? [bucket] : [...bucket.ids].sort((a, b) => a - b);
  }

  add(row: IndexedEpisode): void {
    for (const key of matchKeys(row, true, this.maxRank)) {
      const [ofKind, number] = [this.ofKind(row.subscriptionId, key.kind), this.numberOf(key)];
      const bucket = ofKind.get(number);
      if (bucket === undefined) ofKind.set(number, row.id);
      else if (typeof bucket === 'number')
        ofKind.set(number, { ids: new Set([bucket, row.id]), lowest: Math.min(bucket, row.id) });
      else {
        bucket.ids.add(row.id);
        if (bucket.lowest !== undefined && row.id < bucket.lowest) bucket.lowest = row.id;
      }
    }
  }

  remove(row: IndexedEpisode): void {
    for (const key of matchKeys(row, true, this.maxRank)) {
      const [ofKind, number] = [this.ofKind(row.subscriptionId, key.kind), this.numberOf(key)];
      const bucket = ofKind.get(number);
      if (bucket === row.id) ofKind.delete(number);
      else if (typeof bucket === 'object') {
        bucket.ids.delete(row.id);
        if (bucket.lowest === row.id) bucket.lowest = undefined;
      }
    }
  }

  private ofKind(subscriptionId: number, kind: string): Map<number, Bucket> {
    let kinds = this.buckets.get(subscriptionId);
    if (!kinds) this.buckets.set(subscriptionId, (kinds = new Map()));
    let ofKind = kinds.get(kind);
    if (!ofKind) kinds.set(kind, (ofKind = new Map()));
    return ofKind;
  }

  private numberOf({ texts: [a, b] }: MatchKey): number {
    return this.numberOfText(a) * maxTexts + this.numberOfText(b);
  }

  private numberOfText(text: string): number {
    if (text === '') return 0;
    const known = this.numbers.get(text);
    if (known !== undefined) return known;
    this.numbers.set(text, this.numbers.size + 1);
    return this.numbers.size;
  }
}
