import type { Metadata } from './episode.rule.js';

/** How sure it is that two episodes of one subscription are the same: 1 is the surest. */
export type Rank = 1 | 2 | 3 | 4;

/** What two episodes that are the same have in common: texts, of a kind that keeps them apart from others. */
export interface MatchKey {
  rank: Rank;
  kind: string;
  texts: readonly [string, string];
}

/**
 * The keys by which an episode that is sought meets the same one of its subscription: two are the same when they share
 * a key. Of several that are, the one with the lowest rank is meant, then the one with the lowest row id
 * (docs/interface.md, "Which episode is meant"). `episode.match_keys` is the same rule in SQL.
 *
 * 1. the same episode_guid; 2. where either has none, the same enclosure_url; 3. there also two of publish_date,
 * episode_url and title; 4. episode_guids that differ, the same enclosure_url and one more. Empty values never agree.
 *
 * "Where either has no guid" makes the keys of the two sides differ. One that is sought has a single key, by whether it
 * has a guid itself. One that may be found is there for those without a guid, and, where it has none itself, for those
 * with one as well.
 *
 * @param found of the one that may be found, else of the one that is sought.
 */
export function matchKeys(episode: Metadata, found: boolean): MatchKey[] {
  const { episodeGuid, title, publishDate, enclosureUrl, episodeUrl } = episode;
  const hasGuid = episodeGuid !== '';
  const keys: MatchKey[] = [];
  const add = (rank: Rank, kind: string, text: string, other = '') =>
    void keys.push({ rank, kind, texts: [text, other] });
  if (hasGuid) add(1, 'guid', episodeGuid);
  const sought = [hasGuid ? 'with guid' : 'without guid'];
  for (const partner of found ? ['without guid', ...(hasGuid ? [] : ['with guid'])] : sought) {
    if (enclosureUrl !== '') add(2, `${partner} enclosure`, enclosureUrl);
    if (episodeUrl !== '') add(3, `${partner} date and url`, publishDate, episodeUrl);
    if (title !== '') add(3, `${partner} date and title`, publishDate, title);
    if (episodeUrl !== '' && title !== '') add(3, `${partner} url and title`, episodeUrl, title);
  }
  if (hasGuid && enclosureUrl !== '') {
    add(4, 'enclosure and date', enclosureUrl, publishDate);
    if (episodeUrl !== '') add(4, 'enclosure and url', enclosureUrl, episodeUrl);
    if (title !== '') add(4, 'enclosure and title', enclosureUrl, title);
  }
  return keys;
}

/** An episode that can be found. */
export interface Indexed extends Metadata {
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

  /** The rank and the row id of the surest match; of matches as sure, of the one with the lowest id. */
  find(subscriptionId: number, sought: Metadata): { rank: Rank; id: number } | undefined {
    let best: { rank: Rank; id: number } | undefined;
    for (const key of matchKeys(sought, false)) {
      if (best && best.rank < key.rank) break;
      const id = this.lowest(this.printed(subscriptionId, key));
      if (id !== undefined && (!best || id < best.id)) best = { rank: key.rank, id };
    }
    return best;
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
    return matchKeys(row, true).map((key) => this.printed(row.subscriptionId, key));
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
