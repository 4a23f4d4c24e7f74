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

/**
 * The keys by which an episode that is sought meets the same one of its subscription: two are the same when they share
 * a key. Of several that are, the one with the lowest rank is meant, then the one with the lowest row id
 * (docs/interface.md, "Which episode is meant"). `episode.match_keys` is the same rule in SQL.
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
    add(2, `${partner} enclosure`, enclosureUrl);
    add(3, `${partner} date and url`, date, episodeUrl);
    add(3, `${partner} date and title`, date, title);
    add(3, `${partner} url and title`, episodeUrl, title);
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

/** The rows under one key. */
interface Bucket {
  ids: Set<number>;
  /** `undefined` where it has to be looked for again. */
  lowest: number | undefined;
}

/**
 * Episodes by their {@link matchKeys}, so that a look-up costs the same however many there are. Each text is hashed
 * once: printed keys hold a number in its place.
 */
export class MatchIndex {
  private readonly numbers = new Map<string, number>();
  private readonly buckets = new Map<string, Bucket>();

  /** @param least how sure the matches have to be that it finds: 1, by the episode_guid alone, or 4, all. */
  constructor(private readonly least: 1 | 4 = 4) {}

  /** The rank and the row id of the surest match; of matches as sure, of the one with the lowest id. */
  find(subscriptionId: number, sought: Identity): { rank: Rank; id: number } | undefined {
    let best: { rank: Rank; id: number } | undefined;
    for (const key of matchKeys(sought, false, this.least)) {
      if (best && best.rank < key.rank) break;
      const id = this.lowest(this.printed(subscriptionId, key));
      if (id !== undefined && (!best || id < best.id)) best = { rank: key.rank, id };
    }
    return best;
  }

  /** The row ids of all without an episode_guid that have an enclosure_url, the lowest first. */
  bare(subscriptionId: number, enclosureUrl: string): number[] {
    // Of those that may be found, only these are there for one with a guid.
    const key: MatchKey = { rank: 2, kind: `${withGuid} enclosure`, texts: [enclosureUrl, ''] };
    const ids = this.buckets.get(this.printed(subscriptionId, key))?.ids ?? [];
    return [...ids].sort((a, b) => a - b);
  }

  add(row: Indexed): void {
    for (const key of this.keysOf(row)) {
      const bucket = this.buckets.get(key);
      if (!bucket) this.buckets.set(key, { ids: new Set([row.id]), lowest: row.id });
      else {
        bucket.ids.add(row.id);
        if (bucket.lowest !== undefined && row.id < bucket.lowest) bucket.lowest = row.id;
      }
    }
  }

  remove(row: Indexed): void {
    for (const key of this.keysOf(row)) {
      const bucket = this.buckets.get(key);
      bucket?.ids.delete(row.id);
      if (bucket?.lowest === row.id) bucket.lowest = undefined;
    }
  }

  private lowest(key: string): number | undefined {
    const bucket = this.buckets.get(key);
    if (!bucket || bucket.ids.size === 0) return undefined;
    if (bucket.lowest === undefined) {
      let lowest = Infinity;
      for (const id of bucket.ids) lowest = Math.min(lowest, id);
      bucket.lowest = lowest;
    }
    return bucket.lowest;
  }

  private keysOf(row: Indexed): string[] {
    return matchKeys(row, true, this.least).map((key) => this.printed(row.subscriptionId, key));
  }

  private printed(subscriptionId: number, { kind, texts: [a, b] }: MatchKey): string {
    return `${subscriptionId} ${kind} ${this.numberOf(a)} ${this.numberOf(b)}`;
  }

  private numberOf(text: string): number {
    const known = this.numbers.get(text);
    if (known !== undefined) return known;
    this.numbers.set(text, this.numbers.size);
    return this.numbers.size - 1;
  }
}
