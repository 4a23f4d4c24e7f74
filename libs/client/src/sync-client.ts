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
 * A stored episode with this device's pending changes applied. Unknown fields are absent or empty.
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
 * - A change is stored before its call returns. The store keeps the change until the server
 *   confirms or permanently rejects it.
 * - The change with the latest time wins for each field, whatever the order of syncs.
 * - After a successful sync the store has the state of the server.
 */
export class SyncClient {
  private readonly api: Api;
  private readonly store: Store;
  private readonly now: () => number;
  #lastChangeTime = 0;
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
   * Returns all subscriptions with pending changes applied, including unsubscribed podcasts. Omits
   * subscriptions with a pending deletion.
   */
  async subscriptions(): Promise<LocalSubscription[]> {
    const rowsByGuid = new Map<string, LocalSubscription>();
    for (const [, row] of await this.store.list(keys.subscription(''))) {
      const stored = row as StoredSubscription;
      rowsByGuid.set(stored.guid, { ...stored, pending: false });
    }
    // Applies titles last: a `setTitle` can precede the `subscribe` that adds the row.
    const newTitles = new Map<string, string>();
    for (const [guid, { kind, feed_url, title }] of await this.#readUnconfirmedActions()) {
      const row = rowsByGuid.get(guid);
      const is_subscribed =
        kind === 'setTitle' ? (row?.is_subscribed ?? false) : kind === 'subscribe';
      if (title !== undefined) newTitles.set(guid, title);
      if (kind === 'delete') rowsByGuid.delete(guid);
      else if (row || kind === 'subscribe')
        rowsByGuid.set(guid, { feed_url, ...row, guid, is_subscribed, pending: true });
    }
    return [...rowsByGuid.values()].map(({ title: stored, ...row }) => {
      const title = newTitles.get(row.guid) ?? stored;
      return title ? { ...row, title } : row;
    });
  }

  /**
   * Returns the stored episodes with pending changes applied. Omits episodes of podcasts with a
   * pending deletion.
   *
   * @param podcast current or former guid of the subscription. Default: all podcasts.
   */
  async episodes(podcast?: string): Promise<LocalEpisode[]> {
    const guid = podcast === undefined ? undefined : await resolveGuid(this.store, podcast);
    const prefix = guid === undefined ? prefixes.episodes : keys.episode(guid, '');
    const rows = (await this.store.list(prefix)) as [string, Episode][];
    const rowsByKey = new Map<string, LocalEpisode>(
      rows.map(([key, row]) => [key, { ...row, pending: false }]),
    );
    const index = new EpisodeIndex();
    for (const row of rowsByKey.values()) index.add(row);
    const { offset: clockOffset } = await readMeta(this.store);
    const changesByKey = new Map<string, EpisodeChange>();
    for (const change of await readUnconfirmedChanges<EpisodeChange>(
      this.store,
      prefixes.episodeChanges,
    )) {
      const podcast_guid = await resolveGuid(this.store, change.podcast_guid);
      if (guid !== undefined && podcast_guid !== guid) continue;
      let key = keys.episode(podcast_guid, change.metadata.sync_id);
      if (!rowsByKey.has(key))
        key =
          index
            .syncIdsOf({ ...change.metadata, podcast_guid })
            .map((syncId) => keys.episode(podcast_guid, syncId))
            .find((other) => isSameEpisode(rowsByKey.get(other) ?? {}, change.metadata)) ?? key;
      const { sync_id } = rowsByKey.get(key) ?? change.metadata;
      const mergedChange = mergeEpisodeChanges(changesByKey.get(key) ?? change, change);
      changesByKey.set(key, mergedChange);
      const states = Object.entries(mergedChange.states).map(([name, state]) => {
        const time = new Date(serverTimeOf(state, this.now(), clockOffset));
        return [name, { value: state.value, timestamp: time.toISOString().slice(0, 16) }];
      });
      const row = {
        ...change.metadata,
        ...rowsByKey.get(key),
        ...(Object.fromEntries(states) as Statuses),
        podcast_guid,
        sync_id,
        pending: true,
      };
      rowsByKey.set(key, row);
      index.add(row);
    }
    const lastActionByGuid = new Map(
      (await this.#readUnconfirmedActions())
        .filter(([, { kind }]) => kind !== 'setTitle')
        .map(([podcast_guid, { kind }]) => [podcast_guid, kind]),
    );
    return [...rowsByKey.values()].filter(
      ({ podcast_guid }) => lastActionByGuid.get(podcast_guid) !== 'delete',
    );
  }

  /**
   * Subscribes to a feed.
   *
   * @param feedUrl check it with {@link faultInHttpUrl}: the server rejects an invalid URL only at
   * the next sync.
   * @param feed.guid the guid that the feed declares (`podcast:guid`). If it is absent or no UUID,
   * the podcast gets the guid of a stored subscription to the URL, else the derived guid.
   * @param feed.title the listener's own title, if any. See {@link setTitle}.
   * @returns the podcast's guid. It stays valid if the server assigns a different guid.
   */
  async subscribe(feedUrl: string, feed: { guid?: string; title?: string } = {}): Promise<string> {
    const feed_url = feedUrl.trim();
    const title = feed.title?.trim();
    return this.#storeChange(async (writes) => {
      const declaredGuid = feed.guid?.trim().toLowerCase() ?? '';
      const isDeclared = uuidPattern.test(declaredGuid);
      const guid = isDeclared ? declaredGuid : await guidOfFeed(this.store, feed_url);
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
   * @param title empty to remove the title. The server cuts a title of more than 2,048 bytes.
   */
  setTitle(podcast: string, title: string): Promise<void> {
    return this.#changeSubscription(podcast, 'setTitle', { title: title.trim() });
  }

  /** Unsubscribes from a podcast and keeps the states of its episodes. */
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
   * Sets states of an episode at the current time.
   *
   * @param podcast current or former guid of the subscription.
   * @param episode identified by `sync_id`, else by `episode_guid`, `enclosure_url` or both. Other
   * fields are uploaded for other devices.
   * @returns the `sync_id` of the episode.
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
   * Reads changes from the server, sends pending changes, and then reads their results.
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
   * Syncs now. Until {@link stop}, also syncs after local changes, after notifications of the
   * server and about every 5 minutes.
   */
  start(): void {
    this.live.start();
  }

  /** Ends the automatic syncs of {@link start} and aborts a running one. */
  async stop(): Promise<void> {
    await this.live.stop();
  }

  /**
   * Calls `listener` after each change in the store. Changes by other tabs and processes count only
   * if the store has {@link Store.watch}.
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
   * Calls `listener` when an automatic sync of {@link start} fails. The changes stay `pending`, and
   * the next sync retries them.
   *
   * @returns a function that removes the listener.
   */
  onError(listener: (error: unknown) => void): () => void {
    return this.live.onError(listener);
  }

  #changeSubscription(
    podcast: string,
    kind: SubscriptionAction['kind'],
    titleField: Pick<SubscriptionAction, 'title'> = {},
  ): Promise<void> {
    return this.#storeChange(async (writes) => {
      const guid = await resolveGuid(this.store, podcast);
      const row = (await this.store.get(keys.subscription(guid))) as StoredSubscription | undefined;
      const action = { kind, feed_url: row?.feed_url ?? '', isDeclared: false, ...titleField };
      await addSubscriptionAction(this.store, writes, guid, action, this.#nextChangeTime());
    });
  }

  /**
   * Returns the device's time, but at least 1 ms after the last change. If the device's clock was
   * set back by 1 s or more, returns its time unchanged.
   */
  #nextChangeTime(): number {
    const now = this.now();
    this.#lastChangeTime =
      now > this.#lastChangeTime - 1_000 ? Math.max(now, this.#lastChangeTime + 1) : now;
    return this.#lastChangeTime;
  }

  async #storeChange<T>(collect: (writes: PendingWrites) => Promise<T>): Promise<T> {
    const result = await updateRecords(this.store, collect);
    this.#notifyChange();
    this.live.scheduleSync();
    return result;
  }

  /** Returns all actions, earliest first, until a pull has read their effect. Guids are current. */
  async #readUnconfirmedActions(): Promise<[guid: string, action: SubscriptionAction][]> {
    const unconfirmed: [string, SubscriptionAction][] = [];
    for (const { guid: former, actions } of await readUnconfirmedChanges<SubscriptionChange>(
      this.store,
      prefixes.subscriptionChanges,
    )) {
      const guid = await resolveGuid(this.store, former);
      for (const action of actions) unconfirmed.push([guid, action]);
    }
    return unconfirmed.sort(([, one], [, other]) => one.at - other.at);
  }

  #notifyChange(): void {
    for (const listener of this.changeListeners) listener();
  }
}

/** Returns an episode with identifiers that are normalized as on the server. */
function normalizeIdentifiers(episode: EpisodeMetadata): EpisodeMetadata {
  const { sync_id, episode_guid, enclosure_url } = episode;
  return {
    ...episode,
    ...(sync_id !== undefined && { sync_id: sync_id.toLowerCase() }),
    ...(episode_guid !== undefined && { episode_guid: episode_guid.trim() }),
    ...(enclosure_url !== undefined && { enclosure_url: enclosure_url.trim() }),
  };
}
