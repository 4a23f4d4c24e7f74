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
    this.live = new Live({ api, store, sync: (signal) => this.sync({ signal }) });
  }

  /** All subscriptions, also those that were unsubscribed and not deleted, with what waits to be sent. */
  async subscriptions(): Promise<LocalSubscription[]> {
    const shown = new Map<string, LocalSubscription>();
    for (const [, row] of await this.store.list(keys.subscription(''))) {
      const known = row as KnownSubscription;
      shown.set(known.guid, { ...known, pending: false });
    }
    for (const [guid, { kind, feed_url }] of await this.acts()) {
      const known = shown.get(guid);
      const is_subscribed = kind === 'subscribed';
      if (kind === 'deleted') shown.delete(guid);
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
    const { offset } = await metaOf(this.store);
    const own = new Map<string, EpisodeChange>();
    for (const change of await this.waiting<EpisodeChange>('change/episode/')) {
      const podcast_guid = await currentGuid(this.store, change.podcast_guid);
      if (guid !== undefined && podcast_guid !== guid) continue;
      const same = ([, row]: [string, LocalEpisode]) => row.podcast_guid === podcast_guid && isSame(row, change.facts);
      let key = keys.episode(podcast_guid, change.facts.sync_id);
      if (!shown.has(key)) key = [...shown].find(same)?.[0] ?? key;
      const { sync_id } = shown.get(key) ?? change.facts;
      const both = bothEpisodes(own.get(key) ?? change, change);
      own.set(key, both);
      const states = Object.entries(both.states).map(([name, state]) => {
        const time = new Date(timeOf(state, this.clock(), offset));
        return [name, { value: state.value, timestamp: time.toISOString().slice(0, 16) }];
      });
      const local = { ...change.facts, ...shown.get(key), ...(Object.fromEntries(states) as Statuses) };
      shown.set(key, { ...local, podcast_guid, sync_id, pending: true });
    }
    const ends = new Map((await this.acts()).map(([podcast_guid, { kind }]) => [podcast_guid, kind]));
    return [...shown.values()].filter(({ podcast_guid }) => ends.get(podcast_guid) !== 'deleted');
  }

  /**
   * Subscribes to a feed.
   *
   * @param feedUrl what is wrong with one says {@link faultInHttpUrl} at once; the server refuses it with `invalid_url`.
   * @param feed.guid the one that the feed declares (`podcast:guid`), where it does.
   * @returns the podcast's guid; it may turn out that it has another one, and is then found by both.
   */
  async subscribe(feedUrl: string, feed: { guid?: string } = {}): Promise<string> {
    const feed_url = feedUrl.trim();
    return this.change(async () => {
      const guid = feed.guid?.toLowerCase() ?? (await guidOf(this.store, feed_url));
      const act = { kind: 'subscribed', feed_url, declared: feed.guid !== undefined } as const;
      await changeSubscription(this.store, guid, act, this.now());
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
    const facts = identified(episode);
    if (!facts.sync_id && !facts.episode_guid && !facts.enclosure_url)
      throw new TypeError('An episode needs a sync_id, an episode_guid or an enclosure_url');
    return this.change(async () =>
      changeEpisode(this.store, await currentGuid(this.store, podcast), facts, states, this.now()),
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
      const push = new Push(this.api, this.store, this.clock, signal, (failure) => this.failed(failure));
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

  /**
   * Calls back when something may read differently now, whoever who shares the store changed it. @returns how to stop that.
   */
  onChange(listener: () => void): () => void {
    this.changeListeners.add(listener);
    const unwatch = this.store.watch?.(listener);
    return () => {
      this.changeListeners.delete(listener);
      unwatch?.();
    };
  }

  /** Calls back for each change that the server will never accept. @returns how to stop that. */
  onFailure(listener: (failure: SyncFailure) => void): () => void {
    this.failureListeners.add(listener);
    return () => void this.failureListeners.delete(listener);
  }

  /**
   * Calls back when a sync that {@link start} keeps going could not be done: changes are delayed. They are kept, stay `pending`,
   * and are tried again. @returns how to stop that.
   */
  onError(listener: (error: unknown) => void): () => void {
    return this.live.onError(listener);
  }

  private changeSubscription(podcast: string, kind: Act['kind']): Promise<void> {
    return this.change(async () => {
      const guid = await currentGuid(this.store, podcast);
      const row = (await this.store.get(keys.subscription(guid))) as KnownSubscription | undefined;
      const act = { kind, feed_url: row?.feed_url ?? '', declared: false };
      await changeSubscription(this.store, guid, act, this.now());
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

  /** Returns what the listener did with subscriptions by their current guids and was not read back yet, the earliest first. */
  private async acts(): Promise<[guid: string, act: Act][]> {
    const acts: [string, Act][] = [];
    for (const change of await this.waiting<SubscriptionChange>('change/subscription/')) {
      const guid = await currentGuid(this.store, change.guid);
      acts.push(...change.acts.map((act): [string, Act] => [guid, act]));
    }
    return acts.sort(([, one], [, other]) => one.at - other.at);
  }

  /** Returns the changes under keys that begin so, which were not read back yet, in no order. */
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

/** Returns an episode with its identifiers in the form in which the server keeps them. */
function identified(episode: EpisodeFacts): EpisodeFacts {
  const { sync_id, episode_guid, enclosure_url } = episode;
  return {
    ...episode,
    ...(sync_id !== undefined && { sync_id: sync_id.toLowerCase() }),
    ...(episode_guid !== undefined && { episode_guid: episode_guid.trim() }),
    ...(enclosure_url !== undefined && { enclosure_url: enclosure_url.trim() }),
  };
}
