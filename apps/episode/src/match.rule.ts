import type { Metadata } from './episode-entry.rule.js';

/** How sure it is that two episodes of one subscription are the same; less is surer. */
export type Rank = 1 | 2 | 3 | 4;

/** What two episodes that are the same have in common: the texts, under a name that keeps other kinds apart. */
export interface MatchKey {
  rank: Rank;
  kind: string;
  texts: readonly [string, string];
}

/**
 * The keys under which an episode meets the same one of its subscription: they are the same when they share a key, and
 * of several the one with the lowest rank, then the lowest row id (docs/interface.md, "Which episode is meant"). The
 * same rule stands in SQL as `episode.match_keys`.
 *
 * 1. the same episode_guid; 2. where either has none, the same enclosure_url; 3. there also two of publish_date,
 * episode_url and title; 4. episode_guids that differ, the same enclosure_url and one more. Empty values never agree.
 *
 * Where the rule is "either has no guid", the side that is sought has one key, and the side that is found one for each
 * kind of partner.
 *
 * @param found of the side that is found, else of the one that is sought.
 */
export function matchKeys(episode: Metadata, found: boolean): MatchKey[] {
  const { episodeGuid, title, publishDate, enclosureUrl, episodeUrl } = episode;
  const bare = episodeGuid === '';
  const keys: MatchKey[] = [];
  const add = (rank: Rank, kind: string, ...texts: [string, string]) => void keys.push({ rank, kind, texts });
  if (!bare) add(1, 'guid', episodeGuid, 'guid');
  const partners = found ? ['bare', ...(bare ? ['with guid'] : [])] : [bare ? 'bare' : 'with guid'];
  for (const partner of partners) {
    if (enclosureUrl !== '') add(2, `${partner} enclosure`, enclosureUrl, 'enclosure');
    if (episodeUrl !== '') add(3, `${partner} date and url`, publishDate, episodeUrl);
    if (title !== '') add(3, `${partner} date and title`, publishDate, title);
    if (episodeUrl !== '' && title !== '') add(3, `${partner} url and title`, episodeUrl, title);
  }
  if (!bare && enclosureUrl !== '') {
    add(4, 'enclosure and date', enclosureUrl, publishDate);
    if (episodeUrl !== '') add(4, 'enclosure and url', enclosureUrl, episodeUrl);
    if (title !== '') add(4, 'enclosure and title', enclosureUrl, title);
  }
  return keys;
}

/** An episode that can be found. */
export interface Placed extends Metadata {
  readonly id: number;
  readonly subscriptionId: number;
}

/** The rows under one key. */
interface Bucket {
  ids: Set<number>;
  /** `undefined`: to be looked for. */
  lowest: number | undefined;
}

/**
 * Episodes by everything that they are found by ({@link matchKeys}), so that a look-up costs the same however many
 * there are. Texts are looked at once and stand in keys as numbers.
 */
export class MatchIndex {
  private readonly numbers = new Map<string, number>();
  private readonly buckets = new Map<string, Bucket>();

  /** How sure the surest match is, and the lowest row id of those as sure. */
  find(subscriptionId: number, sought: Metadata): { rank: Rank; id: number } | undefined {
    let best: { rank: Rank; id: number } | undefined;
    for (const key of matchKeys(sought, false)) {
      if (best && best.rank < key.rank) break;
      const id = this.lowest(this.print(subscriptionId, key));
      if (id !== undefined && (!best || id < best.id)) best = { rank: key.rank, id };
    }
    return best;
  }

  place(row: Placed): void {
    for (const key of this.keysOf(row)) {
      const bucket = this.buckets.get(key);
      if (!bucket) this.buckets.set(key, { ids: new Set([row.id]), lowest: row.id });
      else {
        bucket.ids.add(row.id);
        if (bucket.lowest !== undefined && row.id < bucket.lowest) bucket.lowest = row.id;
      }
    }
  }

  remove(row: Placed): void {
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

  private keysOf(row: Placed): string[] {
    return matchKeys(row, true).map((key) => this.print(row.subscriptionId, key));
  }

  private print(subscriptionId: number, { kind, texts: [a, b] }: MatchKey): string {
    return `${subscriptionId} ${kind} ${this.numberOf(a)} ${this.numberOf(b)}`;
  }

  private numberOf(text: string): number {
    const known = this.numbers.get(text);
    if (known !== undefined) return known;
    this.numbers.set(text, this.numbers.size);
    return this.numbers.size - 1;
  }
}
