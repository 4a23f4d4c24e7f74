/** An episode as a podcast's feed has it: what an app knows once it has fetched the feed. */
export interface WebEpisode {
  readonly feed: string;
  readonly url: string;
  readonly guid: string;
  /** How long it is. */
  readonly seconds: number;
}

const seconds = 1_800;

/** The episodes of a feed, which are the same whoever fetches it. */
export function episodesOf(feed: string): WebEpisode[] {
  return [1, 2, 3].map((number) => ({ feed, url: `${feed}/${number}.mp3`, guid: `${feed}#${number}`, seconds }));
}

/** One of {@link episodesOf}, by its number. */
export function episodeOf(feed: string, number: number): WebEpisode {
  return episodesOf(feed)[number - 1] as WebEpisode;
}

/** `YYYY-MM-DDTHH:MM:SS` in UTC, as most clients write and read times. */
export function plainTime(ms: number): string {
  return new Date(ms).toISOString().slice(0, 19);
}

/** The time of day as `YYYY-MM-DDTHH:MM:SS` without a zone means it, in milliseconds. */
export function utcOf(plain: string): number {
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$/.test(plain)) throw new Error(`no plain time: ${plain}`);
  return Date.parse(`${plain}Z`);
}
