// The times of the next fetch. All durations are milliseconds, and all times milliseconds since
// 1970. `random` returns numbers from 0 to 1.

const [second, hour, day] = [1_000, 3_600_000, 86_400_000];

/** The publishing rhythm of a feed, from which its next change is estimated. */
export interface PublishingInterval {
  /** The date of the newest episode in ms since 1970; undefined without dated episodes. */
  readonly latest?: number | undefined;
  /** The median pause between episodes in ms; undefined with fewer than two dated episodes. */
  readonly gap?: number | undefined;
  /** True if the feed declares that no episodes will follow (`itunes:complete`). */
  readonly isComplete?: boolean;
}

/** Number of the newest episodes from which the median pause is computed. */
const sampleSize = 10;

/** Computes the publishing interval from the dates of episodes. Ignores dates in the future. */
export function publishingIntervalOf(dates: readonly number[], now: number): PublishingInterval {
  const newest = dates.filter((date) => date <= now).sort((one, other) => other - one);
  const sample = newest.slice(0, sampleSize);
  const gaps = sample.slice(1).map((date, index) => (sample[index] as number) - date);
  const gap = gaps.sort((one, other) => one - other)[Math.floor(gaps.length / 2)];
  return { latest: newest[0], gap };
}

/**
 * Returns the time of the next fetch after a successful one. The interval is
 * - 14 days for a complete feed;
 * - a day for a feed with fewer than two dated episodes;
 * - a tenth of the time since the latest episode, from a day to a week, if that time exceeds three
 *   gaps and 14 days;
 * - a fortieth of the gap, from an hour to a day, while the next episode is expected: from 0.9 to
 *   1.25 gaps after the latest one;
 * - otherwise a quarter of the gap, or the time until the next episode is expected if that is
 *   shorter, from an hour to a day.
 *
 * @param freshFor the time for which the publisher calls the document current. The interval is
 *   at least this long, but a time of more than a day counts as a day.
 */
export function nextAfterSuccess(
  { latest, gap, isComplete = false }: PublishingInterval,
  { now, freshFor, random }: { now: number; freshFor: number; random: () => number },
): number {
  const interval = isComplete ? 14 * day : computeInterval(latest, gap, now);
  return now + withJitter(Math.max(interval, Math.min(freshFor, day)), random);
}

function computeInterval(latest: number | undefined, gap: number | undefined, now: number): number {
  if (latest === undefined || gap === undefined) return day;
  const silence = now - latest;
  if (silence > 3 * gap + 14 * day) return clamp(silence / 10, day, 7 * day);
  const [windowStart, windowEnd] = [gap - gap / 10, gap + gap / 4];
  if (silence >= windowStart && silence <= windowEnd) return clamp(gap / 40, hour, day);
  const untilWindow = silence < windowStart ? windowStart - silence : Infinity;
  return clamp(Math.min(gap / 4, untilWindow), hour, day);
}

/**
 * Returns the time of the next fetch after a failed one. The delay is 15 minutes, doubled with each
 * further failure up to a day. After 14 days of failures it is 7 days, after 180 days it is 30
 * days. All delays have jitter.
 */
export function nextAfterFailure(
  { failures, failingSince }: { failures: number; failingSince: number },
  { now, random }: { now: number; random: () => number },
): number {
  const failingMs = now - failingSince;
  if (failingMs > 180 * day) return now + withJitter(30 * day, random);
  if (failingMs > 14 * day) return now + withJitter(7 * day, random);
  return now + withJitter(Math.min((hour / 4) * 2 ** (failures - 1), day), random);
}

/** The state of a feed for its followers (docs/reference/interface-feeds.md, "Status"). */
export type FeedStatus = 'pending' | 'ok' | 'failing' | 'gone' | 'refused';

/** Returns the status of a feed after a failure. @param goneCount consecutive answers with 410. */
export function statusAfterFailure(
  before: FeedStatus,
  {
    failingSince,
    goneCount,
    isRefused,
  }: { failingSince: number; goneCount: number; isRefused: boolean },
  now: number,
): FeedStatus {
  const failingMs = now - failingSince;
  if (isRefused) return 'refused';
  if (failingMs > 180 * day || (goneCount >= 3 && failingMs >= 3 * day)) return 'gone';
  return failingMs >= 3 * day ? 'failing' : before;
}

/**
 * Returns the pause of a lane after a fetch: twice the duration of the fetch, from 1 to 20 seconds.
 * The duration includes redirects. So a slow host can delay the lane of a host that redirects to
 * it.
 */
export function lanePauseMs(durationMs: number): number {
  return clamp(2 * durationMs, second, 20 * second);
}

/**
 * Returns the pause of a lane after a 429 response: `Retry-After`, else 15 minutes, doubled with
 * each further consecutive 429. The result is from a minute to a day.
 *
 * @param consecutive429s includes this response. @param retryAfterMs duration of `Retry-After`.
 */
export function blockDurationMs(consecutive429s: number, retryAfterMs: number | undefined): number {
  return clamp(retryAfterMs ?? (hour / 4) * 2 ** (consecutive429s - 1), 60 * second, day);
}

/** Returns an interval multiplied by 0.85 to 1.15. This spreads the fetches of different feeds. */
function withJitter(interval: number, random: () => number): number {
  return Math.round(interval * (0.85 + 0.3 * random()));
}

function clamp(value: number, min: number, max: number): number {
  return Math.min(Math.max(value, min), max);
}
