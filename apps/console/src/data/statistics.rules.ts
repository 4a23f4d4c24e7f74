import type { Episode } from '#client';

/** A period of the statistics: the last 12 or 52 weeks, or all since the first listening. */
export type Period = 'weeks' | 'year' | 'all';

/** The listening time of one week or month: a bar of the chart. */
export interface ListeningBar {
  /** First day of the week or month, at midnight in the time zone of the browser. */
  readonly start: Date;
  readonly seconds: number;
}

/** The listening time of a period. */
export interface Statistics {
  /** Weeks from Monday, or months for `all`. The earliest is first, and none is left out. */
  readonly bars: readonly ListeningBar[];
  /** Guids of podcasts with their seconds, the largest number first. */
  readonly podcasts: readonly (readonly [guid: string, seconds: number])[];
  readonly seconds: number;
  /** Number of played episodes without a duration and a position, of any time. They add nothing. */
  readonly uncounted: number;
}

/** Time that a listener spent with one episode. */
interface ListeningRecord {
  readonly guid: string;
  readonly seconds: number;
  /** `YYYY-MM-DDThh:mm` in UTC, with seconds for a change without a response. */
  readonly at: string;
}

/** First month of a plot. Earlier listening counts for it: clocks that were never set show 1970. */
const earliestMonth = new Date(2000, 0);

/**
 * Returns the hours that the states of episodes show. A played episode counts with its duration,
 * else with its position; another one with its position. It counts once, at its last listening
 * change: the position, or being marked as played.
 */
export function statisticsOf(history: readonly Episode[], period: Period, now: Date): Statistics {
  const heard: ListeningRecord[] = [];
  let uncounted = 0;
  for (const episode of history) {
    const listening = listeningOf(episode);
    if (listening.seconds > 0) heard.push(listening);
    else if (episode.played_status?.value === true) uncounted++;
  }
  const starts = period === 'all' ? monthsOf(heard, now) : weeksUntil(now, period);
  const edges = starts.map((start) => start.toISOString().slice(0, 16));
  const bySlot = starts.map(() => 0);
  const byPodcast = new Map<string, number>();
  let sum = 0;
  for (const { guid, seconds, at } of heard) {
    const found = lastIndexUntil(edges, at);
    if (found < 0 && period !== 'all') continue;
    const slot = Math.max(found, 0);
    bySlot[slot] = (bySlot[slot] ?? 0) + seconds;
    byPodcast.set(guid, (byPodcast.get(guid) ?? 0) + seconds);
    sum += seconds;
  }
  return {
    bars: starts.map((start, slot) => ({ start, seconds: bySlot[slot] ?? 0 })),
    podcasts: [...byPodcast].sort(([, one], [, other]) => other - one),
    seconds: sum,
    uncounted,
  };
}

function listeningOf(episode: Episode): ListeningRecord {
  const { podcast_guid: guid, playback_position, played_status, duration = 0 } = episode;
  const position = playback_position?.value ?? 0;
  const at = playback_position?.timestamp ?? '';
  if (played_status?.value !== true)
    return { guid, seconds: Math.min(position, duration || position), at };
  const { timestamp } = played_status;
  return { guid, seconds: duration || position, at: timestamp > at ? timestamp : at };
}

/** Returns the Mondays of the period's weeks, up to the current week. */
function weeksUntil(now: Date, period: 'weeks' | 'year'): Date[] {
  const count = period === 'weeks' ? 12 : 52;
  const monday = now.getDate() - ((now.getDay() + 6) % 7);
  return Array.from(
    { length: count },
    (_, at) => new Date(now.getFullYear(), now.getMonth(), monday - 7 * (count - 1 - at)),
  );
}

/** Returns the first days of the months from the first listening until now. */
function monthsOf(heard: readonly ListeningRecord[], now: Date): Date[] {
  let first = now.toISOString();
  for (const { at } of heard) if (at < first) first = at;
  const earliest = new Date(
    Math.max(earliestMonth.getTime(), Date.parse(`${first.slice(0, 16)}Z`)),
  );
  const months: Date[] = [];
  for (let month = earliest.getMonth(); ; month++) {
    const start = new Date(earliest.getFullYear(), month);
    if (start > now) return months;
    months.push(start);
  }
}

/** Returns the index of the last ascending edge that is not after a time, or -1. */
function lastIndexUntil(edges: readonly string[], time: string): number {
  let low = 0;
  let high = edges.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((edges[middle] ?? '') <= time) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** Returns the upper end of an axis for a value: 1, 2, 3, 4, 5, 6 or 8, times a power of ten. */
export function roundScale(value: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1)));
  return ([1, 2, 3, 4, 5, 6, 8].find((factor) => factor * power >= value) ?? 10) * power;
}
