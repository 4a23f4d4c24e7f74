import type { Api } from './api.js';
import {
  changeEpisode,
  changeSubscription,
  currentGuid,
  type EpisodeStates,
  guidOf,
  metaOf,
  sentBatches,
} from './changing.js';
import { Live } from './live.js';
import { Pull } from './pull.js';
import { Push, type SyncFailure } from './push.js';
import {
  type Act,
  bothEpisodes,
  type EpisodeChange,
  type EpisodeFacts,
  isSame,
  keys,
  type KnownSubscription,
  type SubscriptionChange,
  timeOf,
} from './records.js';
import type { CallOptions } from './sending.js';
import type { Store } from './store.js';
import type { Episode, Statuses } from './wire.js';

/** A subscription with the pending changes of this device. */
export interface LocalSubscription extends KnownSubscription {
  /** True if a change is unsent or unconfirmed. */
  pending: boolean;
}

/** An episode with the pending changes of this device. Unknown fields are missing or empty. */
export interface LocalEpisode extends EpisodeFacts, Statuses {
  podcast_guid: string;
  sync_id: string;
  pending: boolean;
}

export interface SyncClientOptions {
  api: Api;
  store: Store;
  /** Device time in milliseconds since 1970. Its error is corrected by the server's time. */
  clock?: () => number;
}

/**
 * One device of a listener. It works offline and equals the others after a sync. A change is stored
 * before its call returns, and {@link sync} sends it. The latest change of each field wins, in
 * whatever order devices sync.
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
    this.live = new Live({ api, store, sync: (signal) => this.sync({ signal }) });
  }

  /** Returns all subscriptions with pending changes applied, including unsubscribed ones. */
  async subscriptions(): Promise<LocalSubscription[]> {
    const shown = new Map<string, LocalSubscription>();
    for (const [, row] of await this.store.list(keys.subscription(''))) {
      const known = row as KnownSubscription;
      shown.set(known.guid, { ...known, pending: false });
    }
    for (const [guid, { kind, feed_url, title }] of await this.acts()) {
      const known = shown.get(guid);
      const is_subscribed =
        kind === 'titled' ? (known?.is_subscribed ?? false) : kind === 'subscribed';
      if (kind === 'deleted') shown.delete(guid);
      else if (known || kind === 'subscribed') {
        const titled = title === undefined ? {} : { title };
        shown.set(guid, { feed_url, ...known, ...titled, guid, is_subscribed, pending: true });
      }
    }
    return [...shown.values()].map(({ title, ...row }) => (title ? { ...row, title } : row));
  }

  /** Returns all episodes with a state, of one podcast or of all, with pending changes applied. */
  async episodes(podcast?: string): Promise<LocalEpisode[]> {
    const guid = podcast === undefined ? undefined : await currentGuid(this.store, podcast);
    const rows = (await this.store.list(
      guid === undefined ? 'episode/' : keys.episodesOf(guid),
    )) as [string, Episode][];
    const shown = new Map<string, LocalEpisode>(
      rows.map(([key, row]) => [key, { ...row, pending: false }]),
    );
    const { offset } = await metaOf(this.store);
    const own = new Map<string, EpisodeChange>();
    for (const change of await this.waiting<EpisodeChange>('change/episode/')) {
      const podcast_guid = await currentGuid(this.store, change.podcast_guid);
      if (guid !== undefined && podcast_guid !== guid) continue;
      const same = ([, row]: [string, LocalEpisode]) =>
        row.podcast_guid === podcast_guid && isSame(row, change.facts);
      let key = keys.episode(podcast_guid, change.facts.sync_id);
      if (!shown.has(key)) key = [...shown].find(same)?.[0] ?? key;
      const { sync_id } = shown.get(key) ?? change.facts;
      const both = bothEpisodes(own.get(key) ?? change, change);
      own.set(key, both);
      const states = Object.entries(both.states).map(([name, state]) => {
        const time = new Date(timeOf(state, this.clock(), offset));
        return [name, { value: state.value, timestamp: time.toISOString().slice(0, 16) }];
      });
      const local = {
        ...change.facts,
        ...shown.get(key),
        ...(Object.fromEntries(states) as Statuses),
      };
      shown.set(key, { ...local, podcast_guid, sync_id, pending: true });
    }
    const ends = new Map(
      (await this.acts())
        .filter(([, { kind }]) => kind !== 'titled')
        .map(([podcast_guid, { kind }]) => [podcast_guid, kind]),
    );
    return [...shown.values()].filter(({ podcast_guid }) => ends.get(podcast_guid) !== 'deleted');
  }

  /**
   * Subscribes to a feed.
   *
   * @param feedUrl {@link faultInHttpUrl} reports faults immediately; the server rejects it with
   * `invalid_url`.
   * @param feed.guid the guid that the feed declares (`podcast:guid`), if any.
   * @param feed.title the listener's own title, if any. See {@link setTitle}.
   * @returns the podcast's guid. If the server has another one, both find the podcast.
   */
  async subscribe(feedUrl: string, feed: { guid?: string; title?: string } = {}): Promise<string> {
    const feed_url = feedUrl.trim();
    return this.change(async () => {
      const guid = feed.guid?.toLowerCase() ?? (await guidOf(this.store, feed_url));
      const { title } = feed;
      const act = {
        kind: 'subscribed',
        feed_url,
        declared: feed.guid !== undefined,
        ...(title && { title }),
      } as const;
      await changeSubscription(this.store, guid, act, this.now());
      return guid;
    });
  }

  /**
   * Sets the listener's own title of a podcast.
   *
   * @param title at most 2,048 bytes; empty to remove it.
   */
  setTitle(podcast: string, title: string): Promise<void> {
    return this.changeSubscription(podcast, 'titled', { title });
  }

  /** Unsubscribes and keeps the episodes' states. */
  unsubscribe(podcast: string): Promise<void> {
    return this.changeSubscription(podcast, 'unsubscribed');
  }

  /**
   * Deletes a subscription with all its states, on all devices. The server deletes asynchronously;
   * the subscription can appear again until then.
   */
  delete(podcast: string): Promise<void> {
    return this.changeSubscription(podcast, 'deleted');
  }

  /**
   * Sets states of an episode, with the current time.
   *
   * @param podcast any guid of a subscription.
   * @param episode identified by `sync_id`, else by `episode_guid`, `enclosure_url` or both. Other
   * fields are stored for the other devices.
   * @returns the `sync_id`.
   * @throws TypeError for an episode without any of the three.
   */
  async setEpisode(podcast: string, episode: EpisodeFacts, states: EpisodeStates): Promise<string> {
    const facts = identified(episode);
    if (!facts.sync_id && !facts.episode_guid && !facts.enclosure_url)
      throw new TypeError('An episode needs a sync_id, an episode_guid or an enclosure_url');
    return this.change(async () =>
      changeEpisode(this.store, await currentGuid(this.store, podcast), facts, states, this.now()),
    );
  }

  /** Stores the playback position in seconds. See {@link setEpisode}. */
  setPosition(podcast: string, episode: EpisodeFacts, seconds: number): Promise<string> {
    return this.setEpisode(podcast, episode, { playback_position: seconds });
  }

  /**
   * Reads changes, sends pending ones and reads their results.
   *
   * @throws ApiError when the sync fails for now. The store keeps everything, and the next sync
   * continues.
   */
  async sync({ signal }: CallOptions = {}): Promise<void> {
    await this.store.alone('sync', async () => {
      const pull = new Pull(this.api, this.store, signal);
      await pull.run();
      this.changed();
      const push = new Push(this.api, this.store, this.clock, signal, (failure) =>
        this.failed(failure),
      );
      if (!(await push.run()) && !(await this.isUnread())) return;
      await pull.run();
      this.changed();
    });
  }

  /** Stays in sync until {@link stop}: after changes, notifications and every 5 minutes. */
  start(): void {
    this.live.start();
  }

  /** Ends {@link start} and aborts its running sync. */
  async stop(): Promise<void> {
    await this.live.stop();
  }

  /**
   * Calls back after any change in the store, including other clients' changes.
   *
   * @returns a function that unsubscribes.
   */
  onChange(listener: () => void): () => void {
    this.changeListeners.add(listener);
    const unwatch = this.store.watch?.(listener);
    return () => {
      this.changeListeners.delete(listener);
      unwatch?.();
    };
  }

  /** Calls back for each permanently rejected change. @returns a function that unsubscribes. */
  onFailure(listener: (failure: SyncFailure) => void): () => void {
    this.failureListeners.add(listener);
    return () => void this.failureListeners.delete(listener);
  }

  /**
   * Calls back when a sync of {@link start} fails. Changes stay `pending` and are retried.
   *
   * @returns a function that unsubscribes.
   */
  onError(listener: (error: unknown) => void): () => void {
    return this.live.onError(listener);
  }

  private changeSubscription(
    podcast: string,
    kind: Act['kind'],
    more: Pick<Act, 'title'> = {},
  ): Promise<void> {
    return this.change(async () => {
      const guid = await currentGuid(this.store, podcast);
      const row = (await this.store.get(keys.subscription(guid))) as KnownSubscription | undefined;
      const act = { kind, feed_url: row?.feed_url ?? '', declared: false, ...more };
      await changeSubscription(this.store, guid, act, this.now());
    });
  }

  /** Returns the device's time, later than the last change unless the clock was set back. */
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

  /** Returns changes of subscriptions not read back yet, by current guid, earliest first. */
  private async acts(): Promise<[guid: string, act: Act][]> {
    const acts: [string, Act][] = [];
    for (const change of await this.waiting<SubscriptionChange>('change/subscription/')) {
      const guid = await currentGuid(this.store, change.guid);
      acts.push(...change.acts.map((act): [string, Act] => [guid, act]));
    }
    return acts.sort(([, one], [, other]) => one.at - other.at);
  }

  /** Returns changes with the key prefix that were not read back yet, in no order. */
  private async waiting<Change>(prefix: string): Promise<Change[]> {
    const sent = (await sentBatches(this.store)).flatMap((batch) => batch.changes);
    const waiting = [...sent, ...(await this.store.list(prefix))];
    return waiting.filter(([key]) => key.startsWith(prefix)).map(([, change]) => change as Change);
  }

  private async isUnread(): Promise<boolean> {
    return (await this.store.list(keys.done(''))).length > 0;
  }

  private changed(): void {
    for (const listener of this.changeListeners) listener();
  }

  private failed(failure: SyncFailure): void {
    for (const listener of this.failureListeners) listener(failure);
  }
}

/** Returns an episode with its identifiers as the server normalizes them. */
function identified(episode: EpisodeFacts): EpisodeFacts {
  const { sync_id, episode_guid, enclosure_url } = episode;
  return {
    ...episode,
    ...(sync_id !== undefined && { sync_id: sync_id.toLowerCase() }),
    ...(episode_guid !== undefined && { episode_guid: episode_guid.trim() }),
    ...(enclosure_url !== undefined && { enclosure_url: enclosure_url.trim() }),
  };
}
