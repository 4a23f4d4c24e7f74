import type { Episode, Statuses } from './wire.js';

// What a SyncClient keeps in its store, and under which keys.
//
//   meta                            Meta
//   subscription/GUID               KnownSubscription, as the server has it
//   episode/PODCAST/SYNC_ID         Episode, as the server has it
//   alias/GUID                      { guid }: a former guid of a subscription, and the current one
//   change/subscription/GUID        SubscriptionChange that waits
//   change/episode/PODCAST/ID       EpisodeChange that waits
//   batch                           Batch that is being sent
//   done/KEY                        Batch that the server has answered, until its effect has been read

/** What is known as a whole. */
export interface Meta {
  /** The next `since` of each list; none as long as nothing was read to the end. */
  subscriptions?: string;
  episodes?: string;
  /** By how much the server's clock is ahead of the device's, in milliseconds. */
  offset: number;
  /** Whether episodes may be kept that the server has no more: to be counted, and read anew if so. */
  doubt: boolean;
  /** The most changes of the next batch, after one was refused as a whole. */
  most?: number;
}

/** A subscription as the server has it. */
export interface KnownSubscription {
  guid: string;
  feed_url: string;
  is_subscribed: boolean;
}

/** When the listener did something. */
export interface Moment {
  /** By the device's clock, in milliseconds: the later of two changes of the same thing has the larger one. */
  at: number;
  /** By how much the server's clock was ahead of the device's, as far as the device had learned then. */
  offset: number;
  /** The server's time of the state that the listener had seen, in milliseconds. The change is later. */
  after: number;
}

/** One thing that the listener did with a subscription. */
export interface Act extends Moment {
  kind: 'subscribed' | 'unsubscribed' | 'deleted';
  /** Empty where only the guid is needed. */
  feed_url: string;
  /** Whether the guid is one that the app declares. */
  declared: boolean;
}

/** What the listener did with a subscription, as far as it has to be sent: see {@link neededActs}. */
export interface SubscriptionChange extends Held {
  guid: string;
  acts: Act[];
}

/** A change that may have to wait. */
interface Held {
  /** How often the server had a fault of its own about this change alone: others go first. */
  held?: number;
}

/** The fields of an episode that a listener changes. */
export type StatusName = keyof Statuses;

/** What of an episode tells which one it is, or describes it. */
export type EpisodeFacts = Partial<Omit<Episode, 'podcast_guid' | StatusName>>;

/** What the listener did with an episode: of each field the latest. */
export interface EpisodeChange extends Held {
  podcast_guid: string;
  facts: EpisodeFacts & { sync_id: string };
  states: { [Name in StatusName]?: Moment & { value: number | boolean } };
  /** Whether it was refused once for want of room in the answer. */
  again?: boolean;
}

/** Changes as they are sent: always the same bytes with the same key. */
export interface Batch {
  key: string;
  kind: Act['kind'] | 'episodes';
  changes: [key: string, change: SubscriptionChange | EpisodeChange][];
  /** What is sent, as JSON. */
  body: string;
  /** How often the server had a fault of its own about it. */
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
 * Returns the server's time of a change, in milliseconds: later than what its listener had seen, and not still to come. The
 * device's clock may have been put right since: of its offset now and its offset then, the one counts that comes closer.
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
 * Returns what of a listener's acts has to be sent, in this order: the last time that they subscribed, so that what follows
 * finds the subscription, and what they did after that. What is deleted stays deleted until they subscribe again.
 */
export function neededActs(acts: readonly Act[]): Act[] {
  const sorted = [...acts].sort((one, other) => one.at - other.at);
  const place = sorted.map(({ kind }) => kind).lastIndexOf('subscribed');
  const ends = sorted.slice(place + 1);
  const last = ends.pop();
  const isDeleted = ends.some(({ kind }) => kind === 'deleted');
  return [
    ...sorted.slice(place, place + 1),
    ...(last ? [isDeleted ? { ...last, kind: 'deleted' as const } : last] : []),
  ];
}

/** Returns two changes of one subscription as one. */
export function bothSubscriptions(one: SubscriptionChange, other: SubscriptionChange): SubscriptionChange {
  return { ...one, ...other, acts: neededActs([...one.acts, ...other.acts]) };
}

/** Returns two changes of one episode as one: of each field the later. */
export function bothEpisodes(one: EpisodeChange, other: EpisodeChange): EpisodeChange {
  const states = { ...one.states };
  for (const [name, state] of Object.entries(other.states) as [StatusName, Moment & { value: number }][]) {
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

/** Whether two descriptions are of one episode, as far as the guid and the file tell. */
export function isSame(one: EpisodeFacts, other: EpisodeFacts): boolean {
  if (one.sync_id !== undefined && one.sync_id === other.sync_id) return true;
  if (one.episode_guid && other.episode_guid) return one.episode_guid === other.episode_guid;
  return Boolean(one.enclosure_url) && one.enclosure_url === other.enclosure_url;
}
