import type { Store, Value } from './store.js';
import type { Episode, Statuses } from './wire.js';

// Records of a SyncClient in its store, by key.
//
//   meta                            SyncMetadata
//   subscription/GUID               StoredSubscription, as the server has it
//   episode/PODCAST/SYNC_ID         Episode, as the server has it
//   alias/GUID                      { guid }: a former guid of a subscription, and the current one
//   change/subscription/GUID        pending SubscriptionChange
//   change/episode/PODCAST/ID       pending EpisodeChange
//   batch                           Batch in flight
//   done/KEY                        Batch with a response, until its effect was read back

/** Metadata of the whole store. */
export interface SyncMetadata {
  /** `since` of the next read of subscriptions. Absent until they were read to the end. */
  subscriptions?: string;
  /** `since` of the next read of episodes. Absent until they were read to the end. */
  episodes?: string;
  /** Milliseconds by which the server's clock is ahead of the device's. */
  offset: number;
  /**
   * True if the store can have episodes that the server has merged or removed. False after device
   * and server had the same number of episodes, or after a full read.
   */
  needsCount: boolean;
  /** Maximum number of changes in the next batch. A split sets it, an answered batch doubles it. */
  maxChanges?: number;
}

/** A subscription as last read from the server. */
export interface StoredSubscription {
  guid: string;
  feed_url: string;
  is_subscribed: boolean;
  /** The listener's own title, if there is one. */
  title?: string;
}

/** Time of a change by the listener. */
export interface ChangeTime {
  /** Device time in ms. Of two changes of the same field, the later one has the larger value. */
  at: number;
  /** Estimate, at the time of the change, of the server's clock minus the device's, in ms. */
  offset: number;
  /** Server time in ms of the state that the listener saw. The change is later than this state. */
  after: number;
}

/** One change of a subscription by the listener. */
export interface SubscriptionAction extends ChangeTime {
  kind: 'subscribe' | 'setTitle' | 'unsubscribe' | 'delete';
  /** The feed's URL. Only `subscribe` sends it. Empty for an unknown subscription. */
  feed_url: string;
  /** True if the feed declares the guid. Only then `subscribe` sends the guid. */
  isDeclared: boolean;
  /**
   * The listener's title. `setTitle` always has it; empty removes the title. `subscribe` has it
   * only if the listener gave one.
   */
  title?: string;
}

/** A change that becomes pending again after a 500 response. */
interface RetryableChange {
  /** Number of 500 responses to this change alone. Changes with fewer faults are sent first. */
  serverFaults?: number;
}

/** Pending actions of a subscription, reduced by `compactActions`. */
export interface SubscriptionChange extends RetryableChange {
  guid: string;
  actions: SubscriptionAction[];
}

/** Name of a state of an episode, such as `playback_position`. */
export type StatusName = keyof Statuses;

/** Fields that identify or describe an episode. */
export type EpisodeMetadata = Partial<Omit<Episode, 'podcast_guid' | StatusName>>;

/** Pending changes of an episode: the latest value of each field. */
export interface EpisodeChange extends RetryableChange {
  podcast_guid: string;
  metadata: EpisodeMetadata & { sync_id: string };
  states: { [Name in StatusName]?: ChangeTime & { value: number | boolean } };
  /** True after one rejection because the response was full. The next rejection is final. */
  wasOverLimit?: boolean;
}

/** A change with the key of its record. */
export type KeyedChange = [key: string, change: SubscriptionChange | EpisodeChange];

/** Changes in one request. Retries send the same bytes with the same idempotency key. */
export interface Batch {
  /** Idempotency key of the request, the same for all retries. */
  key: string;
  kind: SubscriptionAction['kind'] | 'episodes';
  changes: KeyedChange[];
  /** JSON of the request. */
  body: string;
  /** Number of 500 responses to this batch. */
  serverFaults: number;
}

/** Writes that are collected for one call of {@link Store.write}. */
export type PendingWrites = Map<string, Value | undefined>;

/** Prefixes of the keys of all episodes and all pending changes. */
export const prefixes = {
  episodes: 'episode/',
  subscriptionChanges: 'change/subscription/',
  episodeChanges: 'change/episode/',
} as const;

/** Keys of the records in a store. With an empty last argument, a key is the prefix of a list. */
export const keys = {
  meta: 'meta',
  batch: 'batch',
  subscription: (guid: string) => `subscription/${guid}`,
  alias: (guid: string) => `alias/${guid}`,
  episode: (podcast: string, syncId: string) => `${prefixes.episodes}${podcast}/${syncId}`,
  done: (key: string) => `done/${key}`,
  subscriptionChange: (guid: string) => prefixes.subscriptionChanges + guid,
  episodeChange: (podcast: string, id: string) => `${prefixes.episodeChanges}${podcast}/${id}`,
} as const;

/** Returns the stored metadata, or its defaults. */
export async function readMeta(store: Store): Promise<SyncMetadata> {
  return (
    ((await store.get(keys.meta)) as SyncMetadata | undefined) ?? { offset: 0, needsCount: false }
  );
}

/** Adds a write that updates only the given fields of the metadata. */
export async function writeMeta(
  store: Store,
  writes: PendingWrites,
  fields: Partial<SyncMetadata>,
): Promise<void> {
  writes.set(keys.meta, { ...(await readMeta(store)), ...fields });
}

/** Returns the current guid of a podcast in lower case, given its current or a former guid. */
export async function resolveGuid(store: Store, guid: string): Promise<string> {
  const alias = (await store.get(keys.alias(guid.toLowerCase()))) as { guid: string } | undefined;
  return alias?.guid ?? guid.toLowerCase();
}

/**
 * Reads and writes records under a lock. Other clients of the store cannot change them meanwhile.
 *
 * @param collect reads records and adds the writes.
 * @returns the result of `collect`.
 */
export function updateRecords<T>(
  store: Store,
  collect: (writes: PendingWrites) => Promise<T>,
): Promise<T> {
  return store.withLock('state', async () => {
    const writes: PendingWrites = new Map();
    const result = await collect(writes);
    if (writes.size > 0) await store.write(writes);
    return result;
  });
}
