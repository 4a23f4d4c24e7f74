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
  /** Number of played episodes that count 0 s, as they have no duration and no position. */
  readonly uncounted: number;
}

/** Time that a listener spent with one episode. */
interface ListeningRecord {
  readonly guid: string;
  readonly seconds: number;
  /** `YYYY-MM-DDThh:mm` in UTC, with seconds for a change without a response. */
  readonly at: string;
}

/** First month of a plot. Earlier listening counts there: a clock that was never set shows 1970. */
const earliestMonth = new Date(2000, 0);

/**
 * Returns the listening time of a period, computed from the states of episodes. A played episode
 * counts with its duration, or with its position if the duration is unknown. Any other episode
 * counts with its position. Each counts once, when its position or played status last changed.
 */
export function statisticsOf(history: readonly Episode[], period: Period, now: Date): Statistics {
  const records: ListeningRecord[] = [];
  let uncounted = 0;
  for (const episode of history) {
    const listening = toListeningRecord(episode);
    if (listening.seconds > 0) records.push(listening);
    else if (episode.played_status?.value === true) uncounted++;
  }
  const starts = period === 'all' ? listMonths(records, now) : listWeeks(now, period);
  const startTimes = starts.map((start) => start.toISOString().slice(0, 16));
  const secondsBySlot = starts.map(() => 0);
  const secondsByPodcast = new Map<string, number>();
  let totalSeconds = 0;
  for (const { guid, seconds, at } of records) {
    const startIndex = findLastEdge(startTimes, at);
    if (startIndex < 0 && period !== 'all') continue;
    const slot = Math.max(startIndex, 0);
    secondsBySlot[slot] = (secondsBySlot[slot] ?? 0) + seconds;
    secondsByPodcast.set(guid, (secondsByPodcast.get(guid) ?? 0) + seconds);
    totalSeconds += seconds;
  }
  return {
    bars: starts.map((start, slot) => ({ start, seconds: secondsBySlot[slot] ?? 0 })),
    podcasts: [...secondsByPodcast].sort(([, one], [, other]) => other - one),
    seconds: totalSeconds,
    uncounted,
  };
}

function toListeningRecord(episode: Episode): ListeningRecord {
  const { podcast_guid: guid, playback_position, played_status, duration = 0 } = episode;
  const position = playback_position?.value ?? 0;
  const at = playback_position?.timestamp ?? '';
  if (played_status?.value !== true)
    return { guid, seconds: Math.min(position, duration || position), at };
  const { timestamp } = played_status;
  return { guid, seconds: duration || position, at: timestamp > at ? timestamp : at };
}

/** Returns the Mondays of the period's weeks, up to the current week. */
function listWeeks(now: Date, period: 'weeks' | 'year'): Date[] {
  const weekCount = period === 'weeks' ? 12 : 52;
  const mondayDate = now.getDate() - ((now.getDay() + 6) % 7);
  return Array.from(
    { length: weekCount },
    (_, index) =>
      new Date(now.getFullYear(), now.getMonth(), mondayDate - 7 * (weekCount - 1 - index)),
  );
}

/** Returns the first days of the months from the first listening until now. */
function listMonths(records: readonly ListeningRecord[], now: Date): Date[] {
  let earliestTime = now.toISOString();
  for (const { at } of records) if (at < earliestTime) earliestTime = at;
  const firstMonth = new Date(
    Math.max(earliestMonth.getTime(), Date.parse(`${earliestTime.slice(0, 16)}Z`)),
  );
  const months: Date[] = [];
  for (let month = firstMonth.getMonth(); ; month++) {
    const start = new Date(firstMonth.getFullYear(), month);
    if (start > now) return months;
    months.push(start);
  }
}

/** Returns the index of the last of the ascending `edges` that is not after a time; -1 if none. */
function findLastEdge(edges: readonly string[], time: string): number {
  let low = 0;
  let high = edges.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((edges[middle] ?? '') <= time) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** Returns a round end of an axis, at least `value`: 1 to 6, 8 or 10 times a power of ten. */
export function roundScale(value: number): number {
  const powerOfTen = 10 ** Math.floor(Math.log10(Math.max(value, 1)));
  return ([1, 2, 3, 4, 5, 6, 8].find((factor) => factor * powerOfTen >= value) ?? 10) * powerOfTen;
}
