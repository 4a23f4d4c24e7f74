import { comparableUrl } from '../../contracts/src/feed.url.js';
import type { Api } from './api.js';
import { currentGuid, metaOf } from './changing.js';
import { ApiError } from './errors.js';
import {
  type Batch,
  bothEpisodes,
  bothSubscriptions,
  type EpisodeChange,
  keys,
  type KnownSubscription,
  type Meta,
  type SubscriptionChange,
} from './records.js';
import type { Store, Value } from './store.js';
import type { Episode, Subscription } from './wire.js';

/** Most counts per pull: a write during a count requires another one. The next pull continues. */
const mostCounts = 3;

const perPage = 250;

/** Reads changes from the server into a store. Only one pull at a time may run on a store. */
export class Pull {
  constructor(
    private readonly api: Api,
    private readonly store: Store,
    private readonly signal: AbortSignal | undefined,
  ) {}

  /** Reads all changes. @throws ApiError; the next run then starts at the last complete stamp. */
  async run(): Promise<void> {
    // The reads below include the effects of these batches.
    const done = (await this.store.list(keys.done(''))) as [string, Batch][];
    for (let count = 0; ; count++) {
      await this.subscriptions();
      await this.episodes();
      const { doubt } = await metaOf(this.store);
      if (!doubt || (await this.counted()) || count >= mostCounts) break;
    }
    const subscribed = done
      .filter(([, { kind }]) => kind === 'subscribed')
      .flatMap(([, { changes }]) => changes);
    for (const [, change] of subscribed) await this.resolve((change as SubscriptionChange).guid);
    if (done.length > 0) await this.write(new Map(done.map(([key]) => [key, undefined])));
  }

  /** Reads a new subscription's current guid by its derived guid. Lists do not show this change. */
  private async resolve(guid: string): Promise<void> {
    if (await this.store.get(keys.subscription(await currentGuid(this.store, guid)))) return;
    try {
      const { new_guid: current } = await this.api.getSubscription(guid, { signal: this.signal });
      if (current === undefined || current === guid) return;
      await this.store.alone('state', async () => {
        const writes = new Map<string, Value | undefined>();
        await this.rename(guid, current, writes);
        await this.store.write(writes);
      });
    } catch (error) {
      // The server refused the subscription, or somebody deleted it later.
      if (!(error instanceof ApiError) || (error.code !== 'not_found' && error.code !== 'deleted'))
        throw error;
    }
  }

  /** Reads all pages of subscriptions and stores them with their stamp in one write. */
  private async subscriptions(): Promise<void> {
    const since = (await metaOf(this.store)).subscriptions;
    const rows: Subscription[] = [];
    let stamp: string | undefined;
    for await (const page of this.api.subscriptions({ since, perPage }, { signal: this.signal })) {
      stamp ??= page.syncTimestamp;
      rows.push(...page.subscriptions);
    }
    await this.store.alone('state', async () => {
      const writes = new Map<string, Value | undefined>();
      for (const row of rows) await this.applySubscription(row, writes);
      const meta = await metaOf(this.store);
      const next = {
        ...meta,
        subscriptions: stamp,
        offset: this.api.clockOffset,
        doubt: meta.doubt || rows.length > 0,
      };
      writes.set(keys.meta, next);
      await this.store.write(writes);
    });
  }

  private async applySubscription(
    row: Subscription,
    writes: Map<string, Value | undefined>,
  ): Promise<void> {
    const { guid: former, new_guid: guid = former, feed_url, is_subscribed, title, deleted } = row;
    if (guid !== former) await this.rename(former, guid, writes);
    writes.set(keys.alias(guid), undefined);
    const known: KnownSubscription = {
      guid,
      feed_url,
      is_subscribed,
      ...(title !== undefined && { title }),
    };
    writes.set(keys.subscription(guid), deleted === undefined ? known : undefined);
    if (deleted === undefined) return;
    for (const [key] of await this.store.list(keys.episodesOf(guid))) writes.set(key, undefined);
    for (const key of writes.keys())
      if (key.startsWith(keys.episodesOf(guid))) writes.set(key, undefined);
  }

  /**
   * Moves stored rows and pending changes to another guid, after a change of guid or a merge. The
   * method {@link counted} detects episodes that were merged.
   */
  private async rename(
    former: string,
    guid: string,
    writes: Map<string, Value | undefined>,
  ): Promise<void> {
    writes.set(keys.subscription(former), undefined);
    writes.set(keys.alias(former), { guid });
    const aliases = (await this.store.list(keys.alias(''))) as [string, { guid: string }][];
    for (const [key, alias] of aliases) if (alias.guid === former) writes.set(key, { guid });
    for (const [key, value] of await this.store.list(keys.episodesOf(former))) {
      const episode = { ...(value as Episode), podcast_guid: guid };
      const moved = keys.episode(guid, episode.sync_id);
      writes.set(key, undefined);
      // A row that already exists was read later.
      if (!writes.get(moved) && !(await this.store.get(moved))) writes.set(moved, episode);
    }
    const wanted = (await this.store.get(keys.subscriptionChange(former))) as
      SubscriptionChange | undefined;
    if (wanted) {
      const key = keys.subscriptionChange(guid);
      const other =
        ((writes.get(key) ?? (await this.store.get(key))) as SubscriptionChange | undefined) ??
        wanted;
      writes.set(keys.subscriptionChange(former), undefined);
      writes.set(key, { ...bothSubscriptions(other, wanted), guid });
    }
    for (const [key, value] of await this.store.list(keys.episodeChange(former, ''))) {
      const change = value as EpisodeChange;
      const moved = keys.episodeChange(guid, change.facts.sync_id);
      const other = (writes.get(moved) ?? (await this.store.get(moved))) as
        EpisodeChange | undefined;
      writes.set(key, undefined);
      writes.set(moved, { ...(other ? bothEpisodes(other, change) : change), podcast_guid: guid });
    }
  }

  /** Stores each page of episodes immediately, and the stamp after the last page. */
  private async episodes(): Promise<void> {
    const since = (await metaOf(this.store)).episodes;
    let stamp: string | undefined;
    for await (const page of this.api.episodes({ since, perPage }, { signal: this.signal })) {
      stamp ??= page.syncTimestamp;
      await this.store.alone('state', () => this.keep(page.episodes, since !== undefined));
    }
    await this.setMeta({ episodes: stamp });
  }

  /** Stores episodes. @param some true for changes since a stamp, false for the whole list. */
  private async keep(episodes: readonly Episode[], some: boolean): Promise<void> {
    const writes = new Map<string, Value | undefined>();
    for (const episode of episodes)
      writes.set(keys.episode(episode.podcast_guid, episode.sync_id), episode);
    if (some && (await this.isDoubtful(episodes)))
      writes.set(keys.meta, { ...(await metaOf(this.store)), doubt: true });
    await this.store.write(writes);
  }

  /**
   * Returns true if the store can have episodes that the server lacks. The server does not list an
   * episode that was merged into another one. An episode of an unknown subscription is newer than
   * the stored subscriptions.
   */
  private async isDoubtful(episodes: readonly Episode[]): Promise<boolean> {
    for (const podcast of new Set(episodes.map((episode) => episode.podcast_guid))) {
      if (!(await this.store.get(keys.subscription(podcast)))) return true;
      const rows = (await this.store.list(keys.episodesOf(podcast))) as [string, Episode][];
      const changed = episodes.filter(({ podcast_guid }) => podcast_guid === podcast);
      const owners = new Map<string, string[]>();
      for (const [, row] of rows)
        for (const name of namesOf(row)) {
          const owned = owners.get(name);
          if (owned) owned.push(row.sync_id);
          else owners.set(name, [row.sync_id]);
        }
      const mayBeTwo = changed.some((episode) =>
        namesOf(episode)
          .flatMap((name) => owners.get(name) ?? [])
          .some((syncId) => syncId !== episode.sync_id),
      );
      if (mayBeTwo) return true;
    }
    return false;
  }

  /**
   * Compares the number of stored episodes with the server's, and reads all episodes again if they
   * differ. Lists do not show episodes that a merge or a new subscription removed.
   *
   * @returns false if a write during the count made the numbers incomparable.
   */
  private async counted(): Promise<boolean> {
    const meta = await metaOf(this.store);
    const { total, syncTimestamp } = await this.api.listEpisodes(
      { perPage: 1 },
      { signal: this.signal },
    );
    if (syncTimestamp !== meta.subscriptions || syncTimestamp !== meta.episodes) return false;
    if ((await this.store.list('episode/')).length === total) {
      await this.setMeta({ doubt: false });
      return true;
    }
    await this.readAnew();
    return true;
  }

  private async readAnew(): Promise<void> {
    const listed = new Set<string>();
    let stamp: string | undefined;
    for await (const page of this.api.episodes({ perPage }, { signal: this.signal })) {
      stamp ??= page.syncTimestamp;
      for (const { podcast_guid, sync_id } of page.episodes)
        listed.add(keys.episode(podcast_guid, sync_id));
      await this.store.alone('state', () => this.keep(page.episodes, false));
    }
    await this.store.alone('state', async () => {
      const writes = new Map<string, Value | undefined>();
      for (const [key] of await this.store.list('episode/'))
        if (!listed.has(key)) writes.set(key, undefined);
      const meta = await metaOf(this.store);
      // Stored subscriptions can lack a deletion that happened during the read.
      writes.set(keys.meta, { ...meta, episodes: stamp, doubt: stamp !== meta.subscriptions });
      await this.store.write(writes);
    });
  }

  private setMeta(parts: Partial<Meta>): Promise<void> {
    return this.store.alone('state', async () =>
      this.store.write(new Map([[keys.meta, { ...(await metaOf(this.store)), ...parts }]])),
    );
  }

  private write(writes: ReadonlyMap<string, Value | undefined>): Promise<void> {
    return this.store.alone('state', () => this.store.write(writes));
  }
}

/**
 * Returns the guid and the file of an episode. The server may have merged episodes that share one;
 * both can also continue to exist.
 */
function namesOf({ episode_guid, enclosure_url }: Episode): string[] {
  return [
    ...(episode_guid === '' ? [] : [`guid ${episode_guid}`]),
    ...(enclosure_url === '' ? [] : [`file ${comparableUrl(enclosure_url)}`]),
  ];
}
