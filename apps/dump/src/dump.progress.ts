import { formatCount, formatDuration } from '#runtime';
import type { DumpCounts } from './dump.reader.js';

/** Returns the progress as text. @param share the part of the dump that is done, from 0 to 1. */
export function describeProgress(
  counts: Readonly<DumpCounts>,
  share: number,
  seconds: number,
): string {
  const left = share > 0 ? `, ${formatDuration((seconds / share) * (1 - share))} left` : '';
  const read = `${formatCount(counts.users)} users, ${formatCount(counts.episodes)} states`;
  return `${Math.floor(share * 100)} %: ${read}, ${rate(counts, seconds)} states/s${left}`;
}

/** Returns the totals and the duration as text. */
export function describeResult(counts: Readonly<DumpCounts>, seconds: number): string {
  const { users, subscriptions, episodes } = counts;
  return (
    `${formatCount(users)} users, ${formatCount(subscriptions)} subscriptions and ` +
    `${formatCount(episodes)} states ` +
    `in ${formatDuration(seconds)} (${rate(counts, seconds)} states/s)`
  );
}

function rate({ episodes }: Readonly<DumpCounts>, seconds: number): string {
  return formatCount(Math.round(episodes / Math.max(seconds, 0.001)));
}
