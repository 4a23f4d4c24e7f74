import { areEqualUrls } from '../../contracts/src/feed.url.js';
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
 * listener saw, and not in the future. The device's clock can have been corrected since the change.
 * Of the current offset and that of the change, the one that needs less adjustment is used.
 *
 * @param now the device's time.
 * @param offset by how much the server's clock is ahead of it.
 */
export function serverTimeOf(change: ChangeTime, now: number, offset: number): number {
  const inRange = (time: number) => Math.max(change.after + 1, Math.min(time, now + offset));
  const distance = (time: number) => Math.abs(time - inRange(time));
  const [present, former] = [change.at + offset, change.at + change.offset];
  return inRange(distance(present) <= distance(former) ? present : former);
}

/**
 * Reduces the actions to at most three, in order: the last `subscribe`, so that later actions find
 * the subscription, the last title, and the last other action after that `subscribe`. A deleted
 * subscription stays deleted until the listener subscribes again, and needs no title.
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
  // A subscription without a title must not discard the title of an earlier one.
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

/** Merges two changes of one episode: the later value of each state wins, else that of `other`. */
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

/** Returns true if two descriptions identify the same episode, by `sync_id`, guid or file. */
export function isSameEpisode(one: EpisodeMetadata, other: EpisodeMetadata): boolean {
  if (one.sync_id !== undefined && one.sync_id === other.sync_id) return true;
  if (one.episode_guid && other.episode_guid) return one.episode_guid === other.episode_guid;
  if (!one.enclosure_url || !other.enclosure_url) return false;
  return areEqualUrls(one.enclosure_url, other.enclosure_url);
}
