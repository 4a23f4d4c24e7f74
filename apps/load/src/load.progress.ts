import { count, duration } from '#runtime';
import type { Sent } from './part.sender.js';

/** What there is to say while a file is loaded. */
interface State extends Sent {
  users: number;
  dropped: number;
  refused: number;
  /** Bytes of the file that were read, and that it has; unknown of the standard input. */
  read?: number;
  size?: number | undefined;
}

/** How far a load is. */
export function describeProgress(state: State, seconds: number): string {
  const { users, episodes, refused, dropped, read, size, waitingSince } = state;
  const share = read !== undefined && size ? read / size : undefined;
  const facts = [
    share === undefined ? undefined : `${(share * 100).toFixed(1)} %`,
    `${count(users)} users, ${count(episodes)} episodes (${count(Math.round(episodes / seconds))}/s)`,
    refused + dropped > 0 ? `${count(dropped)} users left out, ${count(refused)} lines refused` : undefined,
    waitingSince === undefined
      ? undefined
      : `waiting for the services since ${Math.round((performance.now() - waitingSince) / 1_000)} s`,
    share ? `${duration((seconds * (1 - share)) / share)} left` : undefined,
  ];
  return facts.filter((fact) => fact !== undefined).join('; ');
}

/** What was loaded, in how much time. */
export function describeResult(state: State, seconds: number): string {
  const { users, subscriptions, episodes, dropped, refused } = state;
  return [
    `${count(users)} users with ${count(subscriptions)} subscriptions and ${count(episodes)} episodes`,
    `in ${seconds.toFixed(1)} s (${count(Math.round(episodes / seconds))} episodes/s)`,
    `${count(dropped)} users left out, ${count(refused)} lines refused`,
  ].join('; ');
}
