import { comparableUrl, unknownMetadata } from '#contracts';
import type { Identity } from './episode.rules.js';

/** Rank of a match of two episodes in one subscription, from 1, the most certain, to 4. */
export type Rank = 1 | 2 | 3 | 4;

/**
 * A lookup key. The episode of a lookup matches a candidate of its subscription if the two have a
 * key with equal `kind` and `texts`. `kind` names the fields of `texts`, and for ranks 2 and 3
 * whether the episode of the lookup has an episode_guid. A key of one field has `''` as its second
 * text.
 */
export interface MatchKey {
  rank: Rank;
  kind: string;
  texts: readonly [string, string];
}

/** Prefixes of key kinds, for lookups of episodes with an episode_guid and without one. */
const [withGuid, withoutGuid] = ['with guid', 'without guid'] as const;
const createKeyKinds = (kind: string) => ({
  [withGuid]: `${withGuid} ${kind}`,
  [withoutGuid]: `${withoutGuid} ${kind}`,
});
const enclosureKinds = createKeyKinds('enclosure');
const dateAndUrlKinds = createKeyKinds('date and url');
const dateAndTitleKinds = createKeyKinds('date and title');
const urlAndTitleKinds = createKeyKinds('url and title');

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
 * At ranks 2 and 3, an episode with a guid must not match a candidate with a guid. The key kinds
 * ensure this. The episode of a lookup has keys of one kind, `with guid` or `without guid`. A
 * candidate with a guid has only keys of kind `without guid`; a candidate without a guid has both.
 *
 * @param isCandidate false for the episode of a lookup.
 * @param maxRank the highest rank to include.
 */
export function matchKeys(episode: Identity, isCandidate: boolean, maxRank: Rank = 4): MatchKey[] {
  const { episodeGuid, title, episodeUrl } = episode;
  const publishDate =
    episode.publishDate === unknownMetadata.publishDate ? '' : episode.publishDate;
  const hasGuid = episodeGuid !== '';
  const keys: MatchKey[] = [];
  /** Adds a key unless one of its values is unknown. */
  const addKey = (rank: Rank, kind: string, text: string, secondText?: string) => {
    if (text !== '' && secondText !== '')
      keys.push({ rank, kind, texts: [text, secondText ?? ''] });
  };
  addKey(1, 'guid', episodeGuid);
  if (maxRank === 1) return keys;
  const enclosureUrl = comparableUrl(episode.enclosureUrl);
  const lookupKinds = [hasGuid ? withGuid : withoutGuid];
  const candidateKinds = [withoutGuid, ...(hasGuid ? [] : [withGuid])];
  for (const guidKind of isCandidate ? candidateKinds : lookupKinds) {
    addKey(2, enclosureKinds[guidKind], enclosureUrl);
    addKey(3, dateAndUrlKinds[guidKind], publishDate, episodeUrl);
    addKey(3, dateAndTitleKinds[guidKind], publishDate, title);
    addKey(3, urlAndTitleKinds[guidKind], episodeUrl, title);
  }
  if (hasGuid) {
    addKey(4, 'enclosure and date', enclosureUrl, publishDate);
    addKey(4, 'enclosure and url', enclosureUrl, episodeUrl);
    addKey(4, 'enclosure and title', enclosureUrl, title);
  }
  return keys;
}

/** A candidate for {@link MatchIndex}, with its row ids. */
export interface IndexedEpisode extends Identity {
  readonly id: number;
  readonly subscriptionId: number;
}

interface RowSet {
  ids: Set<number>;
  /** The lowest of `ids`; undefined if it must be computed again. */
  lowest: number | undefined;
}
/** The ids of the rows under one key. A single row, the usual case, is a plain id. */
type Bucket = number | RowSet;

/** Returns the lowest id; undefined without ids. */
function findLowestId(bucket: Bucket | undefined): number | undefined {
  if (bucket === undefined || typeof bucket === 'number') return bucket;
  if (bucket.lowest === undefined && bucket.ids.size > 0) {
    bucket.lowest = Infinity;
    for (const id of bucket.ids) bucket.lowest = Math.min(bucket.lowest, id);
  }
  return bucket.lowest;
}

/**
 * Upper bound of the numbers that replace texts. A pair of texts (a, b) is encoded as
 * a × maxTexts + b, which is below 2^53.
 */
const maxTexts = 2 ** 26;

/**
 * An index of episodes by {@link matchKeys} with lookups in constant time. It replaces each text by
 * a number.
 */
export class MatchIndex {
  private readonly textNumbers = new Map<string, number>();
  /** By subscription id, kind of key, and encoded texts of the key. */
  private readonly buckets = new Map<number, Map<string, Map<number, Bucket>>>();

  /** @param maxRank the highest rank to find: 1 (by episode_guid only) or 4 (all). */
  constructor(private readonly maxRank: 1 | 4 = 4) {}

  /**
   * Returns the match of an episode with the lowest rank, then the lowest row id; undefined without
   * a match.
   */
  find(subscriptionId: number, lookup: Identity): { rank: Rank; id: number } | undefined {
    const bucketsByKind = this.buckets.get(subscriptionId);
    if (!bucketsByKind) return undefined;
    let best: { rank: Rank; id: number } | undefined;
    for (const key of matchKeys(lookup, false, this.maxRank)) {
      if (best && best.rank < key.rank) break;
      const id = findLowestId(bucketsByKind.get(key.kind)?.get(this.encodeKey(key)));
      if (id !== undefined && (!best || id < best.id)) best = { rank: key.rank, id };
    }
    return best;
  }

  /** Returns the row ids of episodes with an enclosure_url and no episode_guid, ascending. */
  findWithoutGuid(subscriptionId: number, enclosureUrl: string): number[] {
    // Only candidates without a guid are indexed under this key.
    const texts = [comparableUrl(enclosureUrl), ''] as const;
    const key: MatchKey = { rank: 2, kind: enclosureKinds[withGuid], texts };
    const bucket = this.buckets.get(subscriptionId)?.get(key.kind)?.get(this.encodeKey(key));
    if (bucket === undefined) return [];
    return typeof bucket === 'number' ? [bucket] : [...bucket.ids].sort((a, b) => a - b);
  }

  add(row: IndexedEpisode): void {
    for (const key of matchKeys(row, true, this.maxRank)) {
      const [buckets, encodedKey] = [
        this.ensureBuckets(row.subscriptionId, key.kind),
        this.encodeKey(key),
      ];
      const bucket = buckets.get(encodedKey);
      if (bucket === undefined) buckets.set(encodedKey, row.id);
      else if (typeof bucket === 'number')
        buckets.set(encodedKey, {
          ids: new Set([bucket, row.id]),
          lowest: Math.min(bucket, row.id),
        });
      else {
        bucket.ids.add(row.id);
        if (bucket.lowest !== undefined && row.id < bucket.lowest) bucket.lowest = row.id;
      }
    }
  }

  remove(row: IndexedEpisode): void {
    for (const key of matchKeys(row, true, this.maxRank)) {
      const [buckets, encodedKey] = [
        this.ensureBuckets(row.subscriptionId, key.kind),
        this.encodeKey(key),
      ];
      const bucket = buckets.get(encodedKey);
      if (bucket === row.id) buckets.delete(encodedKey);
      else if (typeof bucket === 'object') {
        bucket.ids.delete(row.id);
        if (bucket.lowest === row.id) bucket.lowest = undefined;
      }
    }
  }

  private ensureBuckets(subscriptionId: number, kind: string): Map<number, Bucket> {
    let kinds = this.buckets.get(subscriptionId);
    if (!kinds) this.buckets.set(subscriptionId, (kinds = new Map()));
    let buckets = kinds.get(kind);
    if (!buckets) kinds.set(kind, (buckets = new Map()));
    return buckets;
  }

  private encodeKey({ texts: [a, b] }: MatchKey): number {
    return this.encodeText(a) * maxTexts + this.encodeText(b);
  }

  private encodeText(text: string): number {
    if (text === '') return 0;
    const storedNumber = this.textNumbers.get(text);
    if (storedNumber !== undefined) return storedNumber;
    this.textNumbers.set(text, this.textNumbers.size + 1);
    return this.textNumbers.size;
  }
}
