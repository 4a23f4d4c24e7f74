import type { Api } from './api.js';
import { isSameEpisode, mergeEpisodeChanges, serverTimeOf } from './change.rules.js';
import { EpisodeIndex } from './episode-index.js';
import { LiveSync } from './live-sync.js';
import {
  addEpisodeChange,
  addSubscriptionAction,
  type EpisodeStates,
  guidOfFeed,
  readUnconfirmedChanges,
} from './outbox.js';
import { Pull } from './pull.js';
import { Push, type SyncFailure } from './push.js';
import {
  type EpisodeChange,
  type EpisodeMetadata,
  keys,
  type PendingWrites,
  prefixes,
  readMeta,
  resolveGuid,
  type StoredSubscription,
  type SubscriptionAction,
  type SubscriptionChange,
  updateRecords,
} from './records.js';
import type { CallOptions } from './request-sender.js';
import type { Store } from './store.js';
import type { Episode, Statuses } from './wire.js';

/** A stored subscription with this device's pending changes applied. */
export interface LocalSubscription extends StoredSubscription {
  /** True if a change is unsent or unconfirmed. */
  pending: boolean;
}

/**
 * A stored episode with this device's pending changes applied. Unknown fields are missing or empty.
 */
export interface LocalEpisode extends EpisodeMetadata, Statuses {
  podcast_guid: string;
  sync_id: string;
  /** True if a change is unsent or unconfirmed. */
  pending: boolean;
}

/** Matches a UUID in lower case. The server rejects other guids. */
const uuidPattern = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;

/** Options of {@link SyncClient}. */
export interface SyncClientOptions {
  api: Api;
  store: Store;
  /** Returns the device's time in milliseconds since 1970. Default: `Date.now`. */
  clock?: () => number;
}

/**
 * Stores a listener's subscriptions and episodes on one device and syncs them with the server.
 * Works offline. Invariants:
 *
 * - A change is stored before its call returns. It is kept until the server confirms it or rejects
 *   it permanently.
 * - The latest change of each field wins, by its time and not by the order of syncs.
 * - After a successful sync the store has the state of the server.
 */
export class SyncClient {
  private readonly api: Api;
  private readonly store: Store;
  private readonly now: () => number;
  private lastChange = 0;
  private readonly changeListeners = new Set<() => void>();
  private readonly failureListeners = new Set<(failure: SyncFailure) => void>();
  private readonly live: LiveSync;

  constructor({ api, store, clock = Date.now }: SyncClientOptions) {
    this.api = api;
    this.store = store;
    this.now = clock;
    this.live = new LiveSync({ api, store, sync: (signal) => this.sync({ signal }) });
  }

  /**
   * Returns all subscriptions with pending changes applied. It includes unsubscribed ones and omits
   * those with a pending deletion.
   */
  async subscriptions(): Promise<LocalSubscription[]> {
    const local = new Map<string, LocalSubscription>();
    for (const [, row] of await this.store.list(keys.subscription(''))) {
      const stored = row as StoredSubscription;
      local.set(stored.guid, { ...stored, pending: false });
    }
    // A `setTitle` action can precede the `subscribe` action that adds the row: apply titles last.
    const titles = new Map<string, string>();
    for (const [guid, { kind, feed_url, title }] of await this.#unconfirmedActions()) {
      const row = local.get(guid);
      const is_subscribed =
        kind === 'setTitle' ? (row?.is_subscribed ?? false) : kind === 'subscribe';
      if (title !== undefined) titles.set(guid, title);
      if (kind === 'delete') local.delete(guid);
      else if (row || kind === 'subscribe')
        local.set(guid, { feed_url, ...row, guid, is_subscribed, pending: true });
    }
    return [...local.values()].map(({ title: stored, ...row }) => {
      const title = titles.get(row.guid) ?? stored;
      return title ? { ...row, title } : row;
    });
  }

  /**
   * Returns the stored episodes with pending changes applied. It omits episodes of podcasts with a
   * pending deletion.
   *
   * @param podcast current or former guid of the subscription. Default: all podcasts.
   */
  async episodes(podcast?: string): Promise<LocalEpisode[]> {
    const guid = podcast === undefined ? undefined : await resolveGuid(this.store, podcast);
    const prefix = guid === undefined ? prefixes.episodes : keys.episode(guid, '');
    const rows = (await this.store.list(prefix)) as [string, Episode][];
    const local = new Map<string, LocalEpisode>(
      rows.map(([key, row]) => [key, { ...row, pending: false }]),
    );
    const index = new EpisodeIndex();
    for (const row of local.values()) index.add(row);
    const { offset } = await readMeta(this.store);
    const merged = new Map<string, EpisodeChange>();
    for (const change of await readUnconfirmedChanges<EpisodeChange>(
      this.store,
      prefixes.episodeChanges,
    )) {
      const podcast_guid = await resolveGuid(this.store, change.podcast_guid);
      if (guid !== undefined && podcast_guid !== guid) continue;
      let key = keys.episode(podcast_guid, change.metadata.sync_id);
      if (!local.has(key))
        key =
          index
            .syncIdsOf({ ...change.metadata, podcast_guid })
            .map((syncId) => keys.episode(podcast_guid, syncId))
            .find((other) => isSameEpisode(local.get(other) ?? {}, change.metadata)) ?? key;
      const { sync_id } = local.get(key) ?? change.metadata;
      const all = mergeEpisodeChanges(merged.get(key) ?? change, change);
      merged.set(key, all);
      const states = Object.entries(all.states).map(([name, state]) => {
        const time = new Date(serverTimeOf(state, this.now(), offset));
        return [name, { value: state.value, timestamp: time.toISOString().slice(0, 16) }];
      });
      const row = {
        ...change.metadata,
        ...local.get(key),
        ...(Object.fromEntries(states) as Statuses),
        podcast_guid,
        sync_id,
        pending: true,
      };
      local.set(key, row);
      index.add(row);
    }
    const lastActions = new Map(
      (await this.#unconfirmedActions())
        .filter(([, { kind }]) => kind !== 'setTitle')
        .map(([podcast_guid, { kind }]) => [podcast_guid, kind]),
    );
    return [...local.values()].filter(
      ({ podcast_guid }) => lastActions.get(podcast_guid) !== 'delete',
    );
  }

  /**
   * Subscribes to a feed.
   *
   * @param feedUrl check it with {@link faultInHttpUrl}: an invalid URL fails only at the sync.
   * @param feed.guid the guid that the feed declares (`podcast:guid`), if any. The podcast gets
   * the derived guid if it is no UUID.
   * @param feed.title the listener's own title, if any. See {@link setTitle}.
   * @returns the podcast's guid. If the server assigns a different guid, both identify the podcast.
   */
  async subscribe(feedUrl: string, feed: { guid?: string; title?: string } = {}): Promise<string> {
    const feed_url = feedUrl.trim();
    const title = feed.title?.trim();
    return this.#storeChange(async (writes) => {
      const declared = feed.guid?.trim().toLowerCase() ?? '';
      const isDeclared = uuidPattern.test(declared);
      const guid = isDeclared ? declared : await guidOfFeed(this.store, feed_url);
      const action = {
        kind: 'subscribe',
        feed_url,
        isDeclared,
        ...(title && { title }),
      } as const;
      await addSubscriptionAction(this.store, writes, guid, action, this.#nextChangeTime());
      return guid;
    });
  }

  /**
   * Sets the listener's own title of a podcast.
   *
   * @param title at most 2,048 bytes; empty to remove it.
   */
  setTitle(podcast: string, title: string): Promise<void> {
    return this.#changeSubscription(podcast, 'setTitle', { title: title.trim() });
  }

  /** Unsubscribes and keeps the episodes' states. */
  unsubscribe(podcast: string): Promise<void> {
    return this.#changeSubscription(podcast, 'unsubscribe');
  }

  /**
   * Deletes a subscription and the states of its episodes, on all devices. The server deletes
   * asynchronously: the subscription can appear in lists again until the deletion ends.
   */
  delete(podcast: string): Promise<void> {
    return this.#changeSubscription(podcast, 'delete');
  }

  /**
   * Sets states of an episode, with the current time.
   *
   * @param podcast current or former guid of the subscription.
   * @param episode identified by `sync_id`, else by `episode_guid`, `enclosure_url` or both. Other
   * fields are stored for the other devices.
   * @returns the `sync_id`.
   * @throws TypeError for an episode without any of these three identifiers.
   */
  async setEpisode(
    podcast: string,
    episode: EpisodeMetadata,
    states: EpisodeStates,
  ): Promise<string> {
    const metadata = normalizeIdentifiers(episode);
    if (!metadata.sync_id && !metadata.episode_guid && !metadata.enclosure_url)
      throw new TypeError('An episode needs a sync_id, episode_guid or enclosure_url');
    return this.#storeChange(async (writes) => {
      const guid = await resolveGuid(this.store, podcast);
      return addEpisodeChange(this.store, writes, guid, metadata, states, this.#nextChangeTime());
    });
  }

  /** Stores the playback position in seconds. See {@link setEpisode}. */
  setPosition(podcast: string, episode: EpisodeMetadata, seconds: number): Promise<string> {
    return this.setEpisode(podcast, episode, { playback_position: seconds });
  }

  /**
   * Reads changes from the server, sends pending changes, and then reads the results.
   *
   * @throws ApiError when the sync fails. The store keeps all changes, and the next sync continues.
   */
  async sync({ signal }: CallOptions = {}): Promise<void> {
    await this.store.withLock('sync', async () => {
      const pull = new Pull(this.api, this.store, signal);
      await pull.readChanges();
      this.#notifyChange();
      const push = new Push(this.api, this.store, this.now, signal, (failure) => {
        for (const listener of this.failureListeners) listener(failure);
      });
      await push.sendPending();
      if ((await this.store.list(keys.done(''))).length === 0) return;
      await pull.readChanges();
      this.#notifyChange();
    });
  }

  /**
   * Syncs now, and until {@link stop} after local changes, after notifications of the server and
   * about every 5 minutes.
   */
  start(): void {
    this.live.start();
  }

  /** Ends {@link start} and aborts its running sync. */
  async stop(): Promise<void> {
    await this.live.stop();
  }

  /**
   * Calls back after each change in the store. Changes by other tabs and processes are reported if
   * the store has {@link Store.watch}.
   *
   * @returns a function that removes the listener.
   */
  onChange(listener: () => void): () => void {
    this.changeListeners.add(listener);
    const unwatch = this.store.watch?.(listener);
    return () => {
      this.changeListeners.delete(listener);
      unwatch?.();
    };
  }

  /**
   * Calls `listener` for each permanently rejected change.
   *
   * @returns a function that removes the listener.
   */
  onFailure(listener: (failure: SyncFailure) => void): () => void {
    this.failureListeners.add(listener);
    return () => void this.failureListeners.delete(listener);
  }

  /**
   * Calls `listener` when a background sync ({@link start}) fails. Changes stay `pending` and are
   * retried.
   *
   * @returns a function that removes the listener.
   */
  onError(listener: (error: unknown) => void): () => void {
    return this.live.onError(listener);
  }

  #changeSubscription(
    podcast: string,
    kind: SubscriptionAction['kind'],
    more: Pick<SubscriptionAction, 'title'> = {},
  ): Promise<void> {
    return this.#storeChange(async (writes) => {
      const guid = await resolveGuid(this.store, podcast);
      const row = (await this.store.get(keys.subscription(guid))) as StoredSubscription | undefined;
      const action = { kind, feed_url: row?.feed_url ?? '', isDeclared: false, ...more };
      await addSubscriptionAction(this.store, writes, guid, action, this.#nextChangeTime());
    });
  }

  /** Returns the device's time, later than the last change unless set back by 1 s or more. */
  #nextChangeTime(): number {
    const now = this.now();
    this.lastChange = now > this.lastChange - 1_000 ? Math.max(now, this.lastChange + 1) : now;
    return this.lastChange;
  }

  async #storeChange<T>(collect: (writes: PendingWrites) => Promise<T>): Promise<T> {
    const result = await updateRecords(this.store, collect);
    this.#notifyChange();
    this.live.scheduleSync();
    return result;
  }

  /** Returns the actions whose effect no pull has read yet, with current guids, earliest first. */
  async #unconfirmedActions(): Promise<[guid: string, action: SubscriptionAction][]> {
    const all: [string, SubscriptionAction][] = [];
    for (const { guid: former, actions } of await readUnconfirmedChanges<SubscriptionChange>(
      this.store,
      prefixes.subscriptionChanges,
    )) {
      const guid = await resolveGuid(this.store, former);
      for (const action of actions) all.push([guid, action]);
    }
    return all.sort(([, one], [, other]) => one.at - other.at);
  }

  #notifyChange(): void {
    for (const listener of this.changeListeners) listener();
  }
}

/** Returns an episode with its identifiers as the server normalizes them. */
function normalizeIdentifiers(episode: EpisodeMetadata): EpisodeMetadata {
  const { sync_id, episode_guid, enclosure_url } = episode;
  return {
    ...episode,
    ...(sync_id !== undefined && { sync_id: sync_id.toLowerCase() }),
    ...(episode_guid !== undefined && { episode_guid: episode_guid.trim() }),
    ...(enclosure_url !== undefined && { enclosure_url: enclosure_url.trim() }),
  };
}
