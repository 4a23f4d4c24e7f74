import { areEqualUrls } from '../../contracts/src/feed-url.js';
import type {
  ChangeTime,
  EpisodeChange,
  EpisodeMetadata,
  StatusName,
  SubscriptionAction,
  SubscriptionChange,
} from './records.js';

/**
 * Returns the server's time of a change, in milliseconds. It is later than the state that the
 * listener saw and, unless that state is, not in the future. The device's clock can have been
 * corrected since the change. Therefore the time is computed with the current offset and with the
 * offset of the change, and the one that needs less adjustment to this range is used.
 *
 * @param now the device's time.
 * @param offset milliseconds by which the server's clock is ahead of the device's.
 */
export function serverTimeOf(change: ChangeTime, now: number, offset: number): number {
  const inRange = (time: number) => Math.max(change.after + 1, Math.min(time, now + offset));
  const distance = (time: number) => Math.abs(time - inRange(time));
  const [present, former] = [change.at + offset, change.at + change.offset];
  return inRange(distance(present) <= distance(former) ? present : former);
}

/**
 * Reduces the actions to at most three, in this order: the last `subscribe`, which later actions
 * need; the last title; the last `unsubscribe` or `delete` after that `subscribe`. If one of them
 * is `delete`, the result ends with `delete` and has no title.
 */
export function compactActions(actions: readonly SubscriptionAction[]): SubscriptionAction[] {
  const sorted = [...actions].sort((one, other) => one.at - other.at);
  const others = sorted.filter(({ kind }) => kind !== 'setTitle');
  const start = others.map(({ kind }) => kind).lastIndexOf('subscribe');
  const subscribe = others.slice(start, start + 1);
  const following = others.slice(start + 1);
  const last = following.at(-1);
  const isDeleted = following.some(({ kind }) => kind === 'delete');
  if (last && isDeleted) return [...subscribe, { ...last, kind: 'delete' }];
  // Keeps an earlier title if a later `subscribe` has none.
  const title = sorted.filter((action) => action.title !== undefined).pop();
  const isSent = title === undefined || title === subscribe[0];
  return [
    ...subscribe,
    ...(isSent ? [] : [{ ...title, kind: 'setTitle' as const }]),
    ...(last ? [last] : []),
  ];
}

/** Merges two changes of one subscription. The guid of `other` is kept. */
export function mergeSubscriptionChanges(
  one: SubscriptionChange,
  other: SubscriptionChange,
): SubscriptionChange {
  return { ...one, ...other, actions: compactActions([...one.actions, ...other.actions]) };
}

/** Merges two changes of one episode. The later value of each state wins; at a tie, `other`'s. */
export function mergeEpisodeChanges(one: EpisodeChange, other: EpisodeChange): EpisodeChange {
  const states = { ...one.states };
  for (const [name, state] of Object.entries(other.states) as [
    StatusName,
    ChangeTime & { value: number },
  ][]) {
    if (state.at >= (states[name]?.at ?? -Infinity)) states[name] = state;
  }
  return {
    ...one,
    ...other,
    metadata: { ...one.metadata, ...other.metadata },
    states,
    wasOverLimit: Boolean(one.wasOverLimit || other.wasOverLimit),
  };
}

/**
 * Returns true if two descriptions identify the same episode: by `sync_id`, else by `episode_guid`
 * if both have one, else by `enclosure_url`.
 */
export function isSameEpisode(one: EpisodeMetadata, other: EpisodeMetadata): boolean {
  if (one.sync_id !== undefined && one.sync_id === other.sync_id) return true;
  if (one.episode_guid && other.episode_guid) return one.episode_guid === other.episode_guid;
  if (!one.enclosure_url || !other.enclosure_url) return false;
  return areEqualUrls(one.enclosure_url, other.enclosure_url);
}
