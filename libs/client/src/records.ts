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

/** What the listener wants of a subscription. */
export interface SubscriptionChange {
  wanted: 'subscribed' | 'unsubscribed' | 'deleted';
  guid: string;
  feed_url: string;
  /** Whether `guid` is one that the app declares. */
  declared: boolean;
  /** When, by the device's clock, in milliseconds. */
  at: number;
}

/** The fields of an episode that a listener changes. */
export type StatusName = keyof Statuses;

/** What of an episode tells which one it is, or describes it. */
export type EpisodeFacts = Partial<Omit<Episode, 'podcast_guid' | StatusName>>;

/** What the listener did with an episode: of each field the latest. */
export interface EpisodeChange {
  podcast_guid: string;
  facts: EpisodeFacts & { sync_id: string };
  /** `at` is the device's time in milliseconds. */
  states: { [Name in StatusName]?: { value: number | boolean; at: number } };
  /** Whether it was refused once for want of room in the answer. */
  again?: boolean;
}

/** Changes as they are sent: always the same bytes with the same key. */
export interface Batch {
  key: string;
  kind: 'subscribe' | 'unsubscribe' | 'delete' | 'episodes';
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

/** The later one of two changes of one subscription. */
export function laterSubscription(one: SubscriptionChange, other: SubscriptionChange): SubscriptionChange {
  return other.at >= one.at ? other : one;
}

/** Two changes of one episode as one: of each field the later. */
export function bothEpisodes(one: EpisodeChange, other: EpisodeChange): EpisodeChange {
  const states = { ...one.states };
  for (const [name, state] of Object.entries(other.states) as [StatusName, { value: number; at: number }][]) {
    if (state.at >= (states[name]?.at ?? -Infinity)) states[name] = state;
  }
  return { ...other, facts: { ...one.facts, ...other.facts }, states, again: Boolean(one.again || other.again) };
}

/** Whether two descriptions are of one episode, as far as the guid and the file tell. */
export function isSame(one: EpisodeFacts, other: EpisodeFacts): boolean {
  if (one.sync_id !== undefined && one.sync_id === other.sync_id) return true;
  if (one.episode_guid && other.episode_guid) return one.episode_guid === other.episode_guid;
  return Boolean(one.enclosure_url) && one.enclosure_url === other.enclosure_url;
}
