import { formatCount, formatDuration } from '#runtime';
import type { SentTotals } from './part-sender.js';

interface LoadState extends SentTotals {
  users: number;
  dropped: number;
  rejected: number;
  /** Read bytes of the file. Undefined for the standard input. */
  read?: number;
  /** Size of the file in bytes. Undefined for the standard input. */
  size?: number | undefined;
}

/** Returns the progress as text. */
export function describeProgress(state: LoadState, seconds: number): string {
  const { users, episodes, rejected, dropped, read, size, waitingSince } = state;

  const loadedShare = read !== undefined && size ? read / size : undefined;
  const facts = [
    loadedShare === undefined ? undefined : `${(loadedShare * 100).toFixed(1)} %`,
    `${formatCount(users)} users, ` +
      `${formatCount(episodes)} episodes (${formatEpisodeRate(state, seconds)}/s)`,
    rejected + dropped > 0
      ? `${formatCount(dropped)} users omitted, ${formatCount(rejected)} lines rejected`
      : undefined,
    waitingSince === undefined
      ? undefined
      : `waiting for the services for ${Math.round((performance.now() - waitingSince) / 1_000)} s`,
    loadedShare ? `${formatDuration((seconds * (1 - loadedShare)) / loadedShare)} left` : undefined,
  ];
  return facts.filter((fact) => fact !== undefined).join('; ');
}

function formatEpisodeRate({ episodes }: LoadState, seconds: number): string {
  return formatCount(Math.round(episodes / seconds));
}

/** Returns the totals and the duration as text. */
export function describeResult(state: LoadState, seconds: number): string {
  const { users, subscriptions, episodes, dropped, rejected } = state;
  return [
    `${formatCount(users)} users with ${formatCount(subscriptions)} subscriptions`,
    `${formatCount(episodes)} episodes in ${seconds.toFixed(1)} s ` +
      `(${formatEpisodeRate(state, seconds)}/s)`,
    `${formatCount(dropped)} users omitted, ${formatCount(rejected)} lines rejected`,
  ].join('; ');
}
