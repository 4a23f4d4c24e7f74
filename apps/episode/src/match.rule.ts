import { unknownMetadata } from '#contracts';
import type { Identity } from './episode.rule.js';

/** How sure it is that two episodes of one subscription are the same: 1 is the surest. */
export type Rank = 1 | 2 | 3 | 4;

/** What two episodes that are the same have in common: texts, of a kind that keeps them apart from others. */
export interface MatchKey {
  rank: Rank;
  kind: string;
  texts: readonly [string, string];
}

/** Whom a key is for: an episode that is sought and has an episode_guid, or has none. */
const [withGuid, withoutGuid] = ['with guid', 'without guid'] as const;
const kindsFor = (kind: string) => ({ [withGuid]: `${withGuid} ${kind}`, [withoutGuid]: `${withoutGuid} ${kind}` });
const enclosureFor = kindsFor('enclosure');
const dateAndUrlFor = kindsFor('date and url');
const dateAndTitleFor = kindsFor('date and title');
const urlAndTitleFor = kindsFor('url and title');

/**
 * The keys by which an episode that is sought meets the same one of its subscription: two are the same when they share
 * a key. Of several that are, the one with the lowest rank is meant, then the one with the lowest row id
 * (docs/reference/interface.md, "Matching episodes"). `episode.match_keys` is the same rule in SQL.
 *
 * 1. the same episode_guid; 2. where either has none, the same enclosure_url; 3. there also two of publish_date,
 * episode_url and title; 4. episode_guids that differ, the same enclosure_url and one more. Values that are unknown never
 * agree.
 *
 * "Where either has no guid" makes the keys of the two sides differ. One that is sought has a single key, by whether it
 * has a guid itself. One that may be found is there for those without a guid, and, where it has none itself, for those
 * with one as well.
 *
 * @param found of the one that may be found, else of the one that is sought.
 * @param least how sure a match has to be.
 */
export function matchKeys(episode: Identity, found: boolean, least: Rank = 4): MatchKey[] {
  const { episodeGuid, title, enclosureUrl, episodeUrl } = episode;
  const date = episode.publishDate === unknownMetadata.publishDate ? '' : episode.publishDate;
  const hasGuid = episodeGuid !== '';
  const keys: MatchKey[] = [];
  /** Adds a key of what is known. */
  const add = (rank: Rank, kind: string, text: string, other?: string) => {
    if (text !== '' && other !== '') keys.push({ rank, kind, texts: [text, other ?? ''] });
  };
  add(1, 'guid', episodeGuid);
  if (least === 1) return keys;
  const sought = [hasGuid ? withGuid : withoutGuid];
  for (const partner of found ? [withoutGuid, ...(hasGuid ? [] : [withGuid])] : sought) {
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

/** An episode that can be found. */
export interface Indexed extends Identity {
  readonly id: number;
  readonly subscriptionId: number;
}

/** Several rows under one key. */
interface Alike {
  ids: Set<number>;
  /** `undefined` where it has to be looked for again. */
  lowest: number | undefined;
}
/** The rows under one key, of which there is nearly always one: its id. */
type Bucket = number | Alike;

/** The lowest row id under a key. */
function lowest(bucket: Bucket | undefined): number | undefined {
  if (bucket === undefined || typeof bucket === 'number') return bucket;
  if (bucket.lowest === undefined && bucket.ids.size > 0) {
    bucket.lowest = Infinity;
    for (const id of bucket.ids) bucket.lowest = Math.min(bucket.lowest, id);
  }
  return bucket.lowest;
}

/** More texts than one upload has: two of their numbers are one number. */
const mostTexts = 2 ** 26;

/**
 * Episodes by their {@link matchKeys}, so that a look-up costs the same however many there are. Each text is hashed
 * once: keys hold a number in its place.
 */
export class MatchIndex {
  private readonly numbers = new Map<string, number>();
  /** By subscription and kind of key. */
  private readonly buckets = new Map<number, Map<string, Map<number, Bucket>>>();

  /** @param least how sure the matches have to be that it finds: 1, by the episode_guid alone, or 4, all. */
  constructor(private readonly least: 1 | 4 = 4) {}

  /** The rank and the row id of the surest match; of matches as sure, of the one with the lowest id. */
  find(subscriptionId: number, sought: Identity): { rank: Rank; id: number } | undefined {
    const ofSubscription = this.buckets.get(subscriptionId);
    if (!ofSubscription) return undefined;
    let best: { rank: Rank; id: number } | undefined;
    for (const key of matchKeys(sought, false, this.least)) {
      if (best && best.rank < key.rank) break;
      const id = lowest(ofSubscription.get(key.kind)?.get(this.numberOf(key)));
      if (id !== undefined && (!best || id < best.id)) best = { rank: key.rank, id };
    }
    return best;
  }

  /** The row ids of all without an episode_guid that have an enclosure_url, the lowest first. */
  bare(subscriptionId: number, enclosureUrl: string): number[] {
    // Of those that may be found, only these are there for one with a guid.
    const key: MatchKey = { rank: 2, kind: enclosureFor[withGuid], texts: [enclosureUrl, ''] };
    const bucket = this.buckets.get(subscriptionId)?.get(key.kind)?.get(this.numberOf(key));
    if (bucket === undefined) return [];
    return typeof bucket === 'number' ? [bucket] : [...bucket.ids].sort((a, b) => a - b);
  }

  add(row: Indexed): void {
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

  remove(row: Indexed): void {
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
    return this.numberOfText(a) * mostTexts + this.numberOfText(b);
  }

  private numberOfText(text: string): number {
    if (text === '') return 0;
    const known = this.numbers.get(text);
    if (known !== undefined) return known;
    this.numbers.set(text, this.numbers.size + 1);
    return this.numbers.size;
  }
}
