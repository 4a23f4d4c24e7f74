import { areEqualUrls } from '../../contracts/src/feed.url.js';
import type { Episode, Statuses } from './wire.js';

// Records of a SyncClient in its store, by key.
//
//   meta                            Meta
//   subscription/GUID               KnownSubscription, as the server has it
//   episode/PODCAST/SYNC_ID         Episode, as the server has it
//   alias/GUID                      { guid }: a former guid of a subscription, and the current one
//   change/subscription/GUID        pending SubscriptionChange
//   change/episode/PODCAST/ID       pending EpisodeChange
//   batch                           Batch in flight
//   done/KEY                        Batch with a response, until its effect was read back

/** Metadata of the whole store. */
export interface Meta {
  /** The next `since` of each list. Missing until a list was read to its end. */
  subscriptions?: string;
  episodes?: string;
  /** Milliseconds by which the server's clock is ahead of the device's. */
  offset: number;
  /** True if the store can have episodes that the server lacks. A count or full read resets it. */
  doubt: boolean;
  /** Most changes of the next batch, after the server rejected a whole batch. */
  most?: number;
}

/** A subscription as last read from the server. */
export interface KnownSubscription {
  guid: string;
  feed_url: string;
  is_subscribed: boolean;
  /** The listener's own title, if there is one. */
  title?: string;
}

/** Time of a change by the listener. */
export interface Moment {
  /** Device time in ms. Of two changes of the same field, the later one has the larger value. */
  at: number;
  /** Milliseconds by which the server's clock was ahead of the device's, as estimated then. */
  offset: number;
  /** Server time in ms of the state that the listener saw. The change is later than this state. */
  after: number;
}

/** One change of a subscription by the listener. */
export interface Act extends Moment {
  kind: 'subscribed' | 'titled' | 'unsubscribed' | 'deleted';
  /** Empty if the guid is sufficient. */
  feed_url: string;
  /** True if the feed declares the guid. */
  declared: boolean;
  /** The listener's title of `titled`, or of a new subscription; empty to remove it. */
  title?: string;
}

/** Pending changes of a subscription that have to be sent; see {@link neededActs}. */
export interface SubscriptionChange extends Held {
  guid: string;
  acts: Act[];
}

interface Held {
  /** Server faults for this change alone. Changes with fewer faults are sent first. */
  held?: number;
}

/** Fields of an episode that a listener changes. */
export type StatusName = keyof Statuses;

/** Fields that identify or describe an episode. */
export type EpisodeFacts = Partial<Omit<Episode, 'podcast_guid' | StatusName>>;

/** Pending changes of an episode: the latest value of each field. */
export interface EpisodeChange extends Held {
  podcast_guid: string;
  facts: EpisodeFacts & { sync_id: string };
  states: { [Name in StatusName]?: Moment & { value: number | boolean } };
  /** True if it was rejected once because the response had reached its size limit. */
  again?: boolean;
}

/** Changes as they are sent. The same key always has the same bytes. */
export interface Batch {
  key: string;
  kind: Act['kind'] | 'episodes';
  changes: [key: string, change: SubscriptionChange | EpisodeChange][];
  body: string;
  faults: number;
}

export const keys = {
  meta: 'meta',
  batch: 'batch',
  subscription: (guid: string) => `subscription/${guid}`,
  alias: (guid: string) => `alias/${guid}`,
  episode: (podcast: string, syncId: string) => `episode/${podcast}/${syncId}`,
  episodesOf: (podcast: string) => `episode/${podcast}/`,
  done: (key: string) => `done/${key}`,
  subscriptionChange: (guid: string) => `change/subscription/${guid}`,
  episodeChange: (podcast: string, id: string) => `change/episode/${podcast}/${id}`,
} as const;

/**
 * Returns the server's time of a change, in milliseconds. It is later than the state that the
 * listener saw, and not in the future. The device's clock can have been corrected since, so the
 * offset that comes closer is used: the current one or that of the change.
 *
 * @param now the device's time.
 * @param offset by how much the server's clock is ahead of it.
 */
export function timeOf(moment: Moment, now: number, offset: number): number {
  const inRange = (time: number) => Math.max(moment.after + 1, Math.min(time, now + offset));
  const distance = (time: number) => Math.abs(time - inRange(time));
  const [present, former] = [moment.at + offset, moment.at + moment.offset];
  return inRange(distance(present) <= distance(former) ? present : former);
}

/**
 * Returns the acts to send, in order: the last subscription, so that later acts find it, the last
 * title, and the last other act after the subscription. A deleted subscription stays deleted until
 * the listener subscribes again, and needs no title.
 */
export function neededActs(acts: readonly Act[]): Act[] {
  const sorted = [...acts].sort((one, other) => one.at - other.at);
  const states = sorted.filter(({ kind }) => kind !== 'titled');
  const place = states.map(({ kind }) => kind).lastIndexOf('subscribed');
  const subscribed = states.slice(place, place + 1);
  const ends = states.slice(place + 1);
  const last = ends.pop();
  const isDeleted = [last, ...ends].some((act) => act?.kind === 'deleted');
  if (last && isDeleted) return [...subscribed, { ...last, kind: 'deleted' }];
  // A subscription without a title must not discard the title of an earlier one.
  const title = sorted.filter((act) => act.title !== undefined).pop();
  const isSent = title === undefined || title === subscribed[0];
  return [
    ...subscribed,
    ...(isSent ? [] : [{ ...title, kind: 'titled' as const }]),
    ...(last ? [last] : []),
  ];
}

/** Merges two changes of one subscription. */
export function bothSubscriptions(
  one: SubscriptionChange,
  other: SubscriptionChange,
): SubscriptionChange {
  return { ...one, ...other, acts: neededActs([...one.acts, ...other.acts]) };
}

/** Merges two changes of one episode: the later value of each field wins. */
export function bothEpisodes(one: EpisodeChange, other: EpisodeChange): EpisodeChange {
  const states = { ...one.states };
  for (const [name, state] of Object.entries(other.states) as [
    StatusName,
    Moment & { value: number },
  ][]) {
    if (state.at >= (states[name]?.at ?? -Infinity)) states[name] = state;
  }
  return {
    ...one,
    ...other,
    facts: { ...one.facts, ...other.facts },
    states,
    again: Boolean(one.again || other.again),
  };
}

/** Returns true if two descriptions identify the same episode, by `sync_id`, guid or file. */
export function isSame(one: EpisodeFacts, other: EpisodeFacts): boolean {
  if (one.sync_id !== undefined && one.sync_id === other.sync_id) return true;
  if (one.episode_guid && other.episode_guid) return one.episode_guid === other.episode_guid;
  if (!one.enclosure_url || !other.enclosure_url) return false;
  return areEqualUrls(one.enclosure_url, other.enclosure_url);
}
