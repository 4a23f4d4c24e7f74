import { comparableUrl, unknownMetadata } from '#contracts';
import type { Identity } from './episode.rules.js';

/** Rank of a match of two episodes of one subscription: 1 is the most certain. */
export type Rank = 1 | 2 | 3 | 4;

/**
 * A lookup key: episodes with an equal key match. `kind` names the fields that `texts` come from.
 */
export interface MatchKey {
  rank: Rank;
  kind: string;
  texts: readonly [string, string];
}

/** The searched episode that a key is for: one with an episode_guid, or one without. */
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
 * Returns the keys that match an episode with the same one of its subscription: two episodes are
 * the same if they share a key. The match of the lowest rank counts, then of the lowest row id
 * (docs/reference/episodes.md, "Matching episodes"). `episode.match_keys` is the same rule in SQL.
 *
 * 1. The same episode_guid.
 * 2. The same enclosure_url, if either has no episode_guid.
 * 3. The same two of publish_date, episode_url and title, if either has no episode_guid.
 * 4. Different episode_guids, the same enclosure_url, and one more equal field.
 *
 * Equal enclosure URLs are the same. Unknown values never match. "If either has no guid" makes the
 * keys of the two sides differ. A searched episode has a single key, depending on its own guid. A
 * candidate has the key for those without a guid and, if it has none itself, the key for those with
 * one as well.
 *
 * @param found true for a candidate, false for the searched episode.
 * @param least the highest rank to include.
 */
export function matchKeys(episode: Identity, found: boolean, least: Rank = 4): MatchKey[] {
  const { episodeGuid, title, episodeUrl } = episode;
  const date = episode.publishDate === unknownMetadata.publishDate ? '' : episode.publishDate;
  const hasGuid = episodeGuid !== '';
  const keys: MatchKey[] = [];
  /** Adds a key unless one of its values is unknown. */
  const add = (rank: Rank, kind: string, text: string, other?: string) => {
    if (text !== '' && other !== '') keys.push({ rank, kind, texts: [text, other ?? ''] });
  };
  add(1, 'guid', episodeGuid);
  if (least === 1) return keys;
  const enclosureUrl = comparableUrl(episode.enclosureUrl);
  const searched = [hasGuid ? withGuid : withoutGuid];
  for (const partner of found ? [withoutGuid, ...(hasGuid ? [] : [withGuid])] : searched) {
    add(2, enclosureFor[partner], enclosureUrl);
    add(3, dateAndUrlFor[partner], date, episodeUrl);
    add(3, dateAndTitleFor[partner], date, title);
    add(3, urlAndTitleFor[partner], episodeUrl, title);
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
/** The rows under one key. A single one, the usual case, is stored as its id. */
type Bucket = number | RowSet;

function lowest(bucket: Bucket | undefined): number | undefined {
  if (bucket === undefined || typeof bucket === 'number') return bucket;
  if (bucket.lowest === undefined && bucket.ids.size > 0) {
    bucket.lowest = Infinity;
    for (const id of bucket.ids) bucket.lowest = Math.min(bucket.lowest, id);
  }
  return bucket.lowest;
}

/** Upper bound of text numbers. A pair (a, b) is encoded as a × maxTexts + b. */
const maxTexts = 2 ** 26;

/** An index of episodes by {@link matchKeys} with constant lookups; keys hold numbers for texts. */
export class MatchIndex {
  private readonly numbers = new Map<string, number>();
  /** By subscription and kind of key. */
  private readonly buckets = new Map<number, Map<string, Map<number, Bucket>>>();

  /** @param least the highest rank to find: 1, by the episode_guid alone, or 4, all. */
  constructor(private readonly least: 1 | 4 = 4) {}

  /** Returns the match of the lowest rank, then of the lowest row id. */
  find(subscriptionId: number, searched: Identity): { rank: Rank; id: number } | undefined {
    const ofSubscription = this.buckets.get(subscriptionId);
    if (!ofSubscription) return undefined;
    let best: { rank: Rank; id: number } | undefined;
    for (const key of matchKeys(searched, false, this.least)) {
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
    for (const key of matchKeys(row, true, this.least)) {
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
    for (const key of matchKeys(row, true, this.least)) {
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
