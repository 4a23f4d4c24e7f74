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
 * Returns the time of a change on the server's clock, in milliseconds. The time is at most the
 * server's current time, but always later than the state that the listener saw. The device's clock
 * can have been corrected since the change. Therefore the function tries the current offset and the
 * offset at the change, and uses the time that is closer to this range.
 *
 * @param now the device's time in milliseconds.
 * @param offset milliseconds by which the server's clock is ahead of the device's.
 */
export function serverTimeOf(change: ChangeTime, now: number, offset: number): number {
  const clampToRange = (time: number) => Math.max(change.after + 1, Math.min(time, now + offset));
  const distanceToRange = (time: number) => Math.abs(time - clampToRange(time));
  const [byCurrentOffset, byFormerOffset] = [change.at + offset, change.at + change.offset];
  return clampToRange(
    distanceToRange(byCurrentOffset) <= distanceToRange(byFormerOffset)
      ? byCurrentOffset
      : byFormerOffset,
  );
}

/**
 * Reduces the actions to at most three, in this order: the last `subscribe`, which later actions
 * need; the last title; the last `unsubscribe` or `delete` after that `subscribe`. If any action
 * after that `subscribe` is `delete`, the result ends with `delete` and has no title.
 */
export function compactActions(actions: readonly SubscriptionAction[]): SubscriptionAction[] {
  const sortedActions = [...actions].sort((one, other) => one.at - other.at);
  const stateActions = sortedActions.filter(({ kind }) => kind !== 'setTitle');
  const subscribeIndex = stateActions.map(({ kind }) => kind).lastIndexOf('subscribe');
  const subscribe = stateActions.slice(subscribeIndex, subscribeIndex + 1);
  const laterActions = stateActions.slice(subscribeIndex + 1);
  const lastStateAction = laterActions.at(-1);
  const isDeleted = laterActions.some(({ kind }) => kind === 'delete');
  if (lastStateAction && isDeleted) return [...subscribe, { ...lastStateAction, kind: 'delete' }];
  // Keeps an earlier title if a later `subscribe` has none.
  const titleAction = sortedActions.filter((action) => action.title !== undefined).pop();
  const isTitleInSubscribe = titleAction === undefined || titleAction === subscribe[0];
  return [
    ...subscribe,
    ...(isTitleInSubscribe ? [] : [{ ...titleAction, kind: 'setTitle' as const }]),
    ...(lastStateAction ? [lastStateAction] : []),
  ];
}

/** Merges two changes of one subscription. The result has the guid of `other`. */
export function mergeSubscriptionChanges(
  one: SubscriptionChange,
  other: SubscriptionChange,
): SubscriptionChange {
  return { ...one, ...other, actions: compactActions([...one.actions, ...other.actions]) };
}

/** Merges two changes of one episode. Of each state, the later value wins; `other` wins ties. */
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
