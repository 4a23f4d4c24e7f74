import { formatCount, formatDuration } from '#runtime';
import type { SentTotals } from './part-sender.js';

interface LoadState extends SentTotals {
  users: number;
  dropped: number;
  rejected: number;
  /** Bytes read and size of the file. Missing for the standard input. */
  read?: number;
  size?: number | undefined;
}

/** Returns the progress as text. */
export function describeProgress(state: LoadState, seconds: number): string {
  const { users, episodes, rejected, dropped, read, size, waitingSince } = state;

  const share = read !== undefined && size ? read / size : undefined;
  const facts = [
    share === undefined ? undefined : `${(share * 100).toFixed(1)} %`,
    `${formatCount(users)} users, ` +
      `${formatCount(episodes)} episodes (${perSecond(state, seconds)}/s)`,
    rejected + dropped > 0
      ? `${formatCount(dropped)} users omitted, ${formatCount(rejected)} lines rejected`
      : undefined,
    waitingSince === undefined
      ? undefined
      : `waiting for the services for ${Math.round((performance.now() - waitingSince) / 1_000)} s`,
    share ? `${formatDuration((seconds * (1 - share)) / share)} left` : undefined,
  ];
  return facts.filter((fact) => fact !== undefined).join('; ');
}

function perSecond({ episodes }: LoadState, seconds: number): string {
  return formatCount(Math.round(episodes / seconds));
}

/** Returns the totals and the duration as text. */
export function describeResult(state: LoadState, seconds: number): string {
  const { users, subscriptions, episodes, dropped, rejected } = state;
  return [
    `${formatCount(users)} users with ${formatCount(subscriptions)} subscriptions`,
    `${formatCount(episodes)} episodes in ${seconds.toFixed(1)} s (${perSecond(state, seconds)}/s)`,
    `${formatCount(dropped)} users omitted, ${formatCount(rejected)} lines rejected`,
  ].join('; ');
}
