import type { Api } from './api.js';
import { changeEpisode, changeSubscription, currentGuid, type EpisodeStates, guidOf, sentBatches } from './changing.js';
import { Live } from './live.js';
import { Pull } from './pull.js';
import { Push, type SyncFailure } from './push.js';
import {
  type EpisodeChange,
  type EpisodeFacts,
  isSame,
  keys,
  type KnownSubscription,
  type Meta,
  type SubscriptionChange,
} from './records.js';
import type { CallOptions } from './sending.js';
import type { Store } from './store.js';
import type { Episode, Statuses } from './wire.js';

/** A subscription as the listener left it, here or elsewhere. */
export interface LocalSubscription extends KnownSubscription {
  /** Whether a change of it waits to be sent, or to be confirmed. */
  pending: boolean;
}

/** An episode as the listener left it, here or elsewhere. What is not known of it is left out or empty. */
export interface LocalEpisode extends EpisodeFacts, Statuses {
  podcast_guid: string;
  sync_id: string;
  pending: boolean;
}

export interface SyncClientOptions {
  api: Api;
  store: Store;
  /** Milliseconds since 1970 by the device. May be wrong: it is put right by the server's. */
  clock?: () => number;
}

/**
 * One device of a listener: works offline, and is the same as the others once it has synced. What is changed is kept in the
 * store before a call returns, and is sent by {@link sync}; the latest change of each field stands, whatever the order in
 * which devices come back.
 */
export class SyncClient {
  private readonly api: Api;
  private readonly store: Store;
  private readonly clock: () => number;
  private lastChange = 0;
  private readonly changeListeners = new Set<() => void>();
  private readonly failureListeners = new Set<(failure: SyncFailure) => void>();
  private readonly live: Live;

  constructor({ api, store, clock = Date.now }: SyncClientOptions) {
    this.api = api;
    this.store = store;
    this.clock = clock;
    this.live = new Live({ api, store, sync: (signal) => this.sync({ signal }), onWrite: () => this.changed() });
  }

  /** All subscriptions, also those that were unsubscribed and not deleted, with what waits to be sent. */
  async subscriptions(): Promise<LocalSubscription[]> {
    const shown = new Map<string, LocalSubscription>();
    for (const [, row] of await this.store.list(keys.subscription(''))) {
      const known = row as KnownSubscription;
      shown.set(known.guid, { ...known, pending: false });
    }
    for (const { wanted, guid: former, feed_url } of await this.waiting<SubscriptionChange>('change/subscription/')) {
      const guid = await currentGuid(this.store, former);
      const known = shown.get(guid);
      const is_subscribed = wanted === 'subscribed';
      if (wanted === 'deleted') shown.delete(guid);
      else if (known || is_subscribed) shown.set(guid, { feed_url, ...known, guid, is_subscribed, pending: true });
    }
    return [...shown.values()];
  }

  /** All episodes with a state, of one podcast or of all, with what waits to be sent. */
  async episodes(podcast?: string): Promise<LocalEpisode[]> {
    const guid = podcast === undefined ? undefined : await currentGuid(this.store, podcast);
    const rows = (await this.store.list(guid === undefined ? 'episode/' : keys.episodesOf(guid))) as [
      string,
      Episode,
    ][];
    const shown = new Map<string, LocalEpisode>(rows.map(([key, row]) => [key, { ...row, pending: false }]));
    const { offset } = await this.meta();
    for (const change of await this.waiting<EpisodeChange>('change/episode/')) {
      const podcast_guid = await currentGuid(this.store, change.podcast_guid);
      if (guid !== undefined && podcast_guid !== guid) continue;
      const same = ([, row]: [string, LocalEpisode]) => row.podcast_guid === podcast_guid && isSame(row, change.facts);
      let key = keys.episode(podcast_guid, change.facts.sync_id);
      if (!shown.has(key)) key = [...shown].find(same)?.[0] ?? key;
      const { sync_id } = shown.get(key) ?? change.facts;
      const states = Object.entries(change.states).map(([name, { value, at }]) => [
        name,
        { value, timestamp: new Date(at + offset).toISOString().slice(0, 16) },
      ]);
      const local = { ...change.facts, ...shown.get(key), ...(Object.fromEntries(states) as Statuses) };
      shown.set(key, { ...local, podcast_guid, sync_id, pending: true });
    }
    return [...shown.values()];
  }

  /**
   * Subscribes to a feed.
   *
   * @param feed.guid the one that the feed declares (`podcast:guid`), where it does.
   * @returns the podcast's guid; it may turn out that it has another one, and is then found by both.
   */
  async subscribe(feed_url: string, feed: { guid?: string } = {}): Promise<string> {
    return this.change(async () => {
      const guid = feed.guid?.toLowerCase() ?? (await guidOf(this.store, feed_url));
      const wanted = { wanted: 'subscribed', guid, feed_url, declared: feed.guid !== undefined } as const;
      await changeSubscription(this.store, wanted, this.now());
      return guid;
    });
  }

  /** Unsubscribes; what was listened to stays. */
  unsubscribe(podcast: string): Promise<void> {
    return this.changeSubscription(podcast, 'unsubscribed');
  }

  /**
   * Deletes a subscription with everything that was listened to, on all devices. The server does that in its own time: until
   * then it may be shown again.
   */
  delete(podcast: string): Promise<void> {
    return this.changeSubscription(podcast, 'deleted');
  }

  /**
   * Sets states of an episode, as of now.
   *
   * @param podcast any guid of a subscription.
   * @param episode which one: its `sync_id`, else its `episode_guid`, `enclosure_url` or both; what else is known of it is
   * kept for the other devices.
   * @returns the `sync_id`, to call it by.
   * @throws TypeError for an episode without any of the three.
   */
  async setEpisode(podcast: string, episode: EpisodeFacts, states: EpisodeStates): Promise<string> {
    if (!episode.sync_id && !episode.episode_guid && !episode.enclosure_url)
      throw new TypeError('An episode needs a sync_id, an episode_guid or an enclosure_url');
    return this.change(async () =>
      changeEpisode(this.store, await currentGuid(this.store, podcast), episode, states, this.now()),
    );
  }

  /** Remembers where the listener is, in seconds. See {@link setEpisode}. */
  setPosition(podcast: string, episode: EpisodeFacts, seconds: number): Promise<string> {
    return this.setEpisode(podcast, episode, { playback_position: seconds });
  }

  /**
   * Reads what has changed, sends what waits, and reads what came of it.
   *
   * @throws ApiError where something keeps it from that now; everything is kept, and goes on the next time.
   */
  async sync({ signal }: CallOptions = {}): Promise<void> {
    await this.store.alone('sync', async () => {
      const pull = new Pull(this.api, this.store, signal);
      await pull.run();
      this.changed();
      const push = new Push(this.api, this.store, signal, (failure) => this.failed(failure));
      if (!(await push.run()) && !(await this.isUnread())) return;
      await pull.run();
      this.changed();
    });
  }

  /** Stays in sync until {@link stop}: when something changes here, at once when it changes elsewhere, and every 5 minutes. */
  start(): void {
    this.live.start();
  }

  /** Ends what {@link start} began, and a sync that it has running. */
  async stop(): Promise<void> {
    await this.live.stop();
  }

  /** Calls back when something may read differently now. @returns how to stop that. */
  onChange(listener: () => void): () => void {
    this.changeListeners.add(listener);
    return () => void this.changeListeners.delete(listener);
  }

  /** Calls back for each change that the server will never accept. @returns how to stop that. */
  onFailure(listener: (failure: SyncFailure) => void): () => void {
    this.failureListeners.add(listener);
    return () => void this.failureListeners.delete(listener);
  }

  /** Calls back when a sync that {@link start} keeps going could not be done; it is tried again. @returns how to stop that. */
  onError(listener: (error: unknown) => void): () => void {
    return this.live.onError(listener);
  }

  private changeSubscription(podcast: string, wanted: 'unsubscribed' | 'deleted'): Promise<void> {
    return this.change(async () => {
      const guid = await currentGuid(this.store, podcast);
      const row = (await this.store.get(keys.subscription(guid))) as KnownSubscription | undefined;
      const feed_url = row?.feed_url ?? '';
      await changeSubscription(this.store, { wanted, guid, feed_url, declared: false }, this.now());
    });
  }

  /** The device's time: later than that of the last change, unless the clock was put back meanwhile. */
  private now(): number {
    const now = this.clock();
    this.lastChange = now > this.lastChange - 1_000 ? Math.max(now, this.lastChange + 1) : now;
    return this.lastChange;
  }

  private async change<T>(run: () => Promise<T>): Promise<T> {
    const result = await this.store.alone('state', run);
    this.changed();
    this.live.soon();
    return result;
  }

  /** The changes under keys that begin so, which were not read back yet: the earliest first. */
  private async waiting<Change>(prefix: string): Promise<Change[]> {
    const sent = (await sentBatches(this.store)).flatMap((batch) => batch.changes);
    const waiting = [...sent, ...(await this.store.list(prefix))];
    return waiting.filter(([key]) => key.startsWith(prefix)).map(([, change]) => change as Change);
  }

  private async isUnread(): Promise<boolean> {
    return (await this.store.list(keys.done(''))).length > 0;
  }

  private async meta(): Promise<Meta> {
    return ((await this.store.get(keys.meta)) as Meta | undefined) ?? { offset: 0, doubt: false };
  }

  private changed(): void {
    for (const listener of this.changeListeners) listener();
  }

  private failed(failure: SyncFailure): void {
    for (const listener of this.failureListeners) listener(failure);
  }
}
