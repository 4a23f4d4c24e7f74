import type { Api } from './api.js';
import { mergeEpisodeChanges, mergeSubscriptionChanges } from './change.rules.js';
import { EpisodeIndex } from './episode-index.js';
import { ApiError } from './errors.js';
import {
  type Batch,
  type EpisodeChange,
  keys,
  type SyncMetadata,
  type PendingWrites,
  prefixes,
  readMeta,
  resolveGuid,
  type StoredSubscription,
  type SubscriptionChange,
  updateRecords,
  writeMeta,
} from './records.js';
import { permanentCodes } from './request-sender.js';
import type { Store } from './store.js';
import type { Episode, Subscription } from './wire.js';

/**
 * Maximum number of times that one pull repeats its reads after a concurrent write prevented the
 * comparison of counts. The next pull then compares them.
 */
const maxRepeatedReads = 3;

const rowsPerPage = 250;

/** Reads the server's changes into a store. Run only one pull at a time on a store. */
export class Pull {
  constructor(
    private readonly api: Api,
    private readonly store: Store,
    private readonly signal: AbortSignal | undefined,
  ) {}

  /** Reads all changes. @throws ApiError; the next run then starts at the last stored stamp. */
  async readChanges(): Promise<void> {
    // Removes these answered batches at the end, because the reads below contain their effects.
    const answeredBatches = (await this.store.list(keys.done(''))) as [string, Batch][];
    for (let repetition = 0; ; repetition++) {
      await this.#readSubscriptions();
      await this.#readEpisodes();
      const { needsCount } = await readMeta(this.store);
      if (!needsCount || (await this.#reloadIfCountsDiffer()) || repetition >= maxRepeatedReads)
        break;
    }
    for (const [, { kind, changes }] of answeredBatches)
      if (kind === 'subscribe')
        for (const [, change] of changes)
          await this.#replaceDerivedGuid((change as SubscriptionChange).guid);
    await updateRecords(this.store, async (writes) => {
      for (const [key] of answeredBatches) writes.set(key, undefined);
    });
  }

  /** Moves the records of a new subscription to its current guid. Lists lack the derived guid. */
  async #replaceDerivedGuid(guid: string): Promise<void> {
    if (await this.store.get(keys.subscription(await resolveGuid(this.store, guid)))) return;
    try {
      const { new_guid: current } = await this.api.getSubscription(guid, { signal: this.signal });
      if (current === undefined || current === guid) return;
      await updateRecords(this.store, (writes) => this.#moveRecords(guid, current, writes));
    } catch (error) {
      // The server rejected the subscription or the guid, or a client deleted the subscription.
      if (!(error instanceof ApiError && permanentCodes.has(error.code))) throw error;
    }
  }

  /** Reads all pages of subscriptions and stores them with their stamp in one write. */
  async #readSubscriptions(): Promise<void> {
    const { subscriptions: since } = await readMeta(this.store);
    const rows: Subscription[] = [];
    let stamp: string | undefined;
    for await (const page of this.api.subscriptions(
      { since, perPage: rowsPerPage },
      { signal: this.signal },
    )) {
      stamp ??= page.syncTimestamp;
      rows.push(...page.subscriptions);
    }
    await updateRecords(this.store, async (writes) => {
      for (const row of rows) await this.#applySubscription(row, writes);
      await writeMeta(this.store, writes, {
        subscriptions: stamp,
        offset: this.api.clockOffset,
        ...(rows.length > 0 && { needsCount: true }),
      });
    });
  }

  async #applySubscription(row: Subscription, writes: PendingWrites): Promise<void> {
    const { guid: former, new_guid: guid = former, feed_url, is_subscribed, title, deleted } = row;
    if (guid !== former) await this.#moveRecords(former, guid, writes);
    writes.set(keys.alias(guid), undefined);
    const stored: StoredSubscription = {
      guid,
      feed_url,
      is_subscribed,
      ...(title !== undefined && { title }),
    };
    writes.set(keys.subscription(guid), deleted === undefined ? stored : undefined);
    if (deleted === undefined) return;
    for (const [key] of await this.store.list(keys.episode(guid, ''))) writes.set(key, undefined);
    for (const key of writes.keys())
      if (key.startsWith(keys.episode(guid, ''))) writes.set(key, undefined);
  }

  /**
   * Moves stored rows and pending changes from a former to the current guid. Episodes that the
   * server merged stay stored until `#reloadIfCountsDiffer`.
   */
  async #moveRecords(former: string, guid: string, writes: PendingWrites): Promise<void> {
    writes.set(keys.subscription(former), undefined);
    writes.set(keys.alias(former), { guid });
    const aliases = (await this.store.list(keys.alias(''))) as [string, { guid: string }][];
    for (const [key, alias] of aliases) if (alias.guid === former) writes.set(key, { guid });
    for (const [key, value] of await this.store.list(keys.episode(former, ''))) {
      const episode = { ...(value as Episode), podcast_guid: guid };
      const newKey = keys.episode(guid, episode.sync_id);
      writes.set(key, undefined);
      // Keeps an existing row with the new guid, which was read later than the moved row.
      if (!writes.get(newKey) && !(await this.store.get(newKey))) writes.set(newKey, episode);
    }
    const pendingChange = (await this.store.get(keys.subscriptionChange(former))) as
      SubscriptionChange | undefined;
    if (pendingChange) {
      const key = keys.subscriptionChange(guid);
      const existingChange =
        ((writes.get(key) ?? (await this.store.get(key))) as SubscriptionChange | undefined) ??
        pendingChange;
      writes.set(keys.subscriptionChange(former), undefined);
      writes.set(key, { ...mergeSubscriptionChanges(existingChange, pendingChange), guid });
    }
    for (const [key, value] of await this.store.list(keys.episodeChange(former, ''))) {
      const change = value as EpisodeChange;
      const newKey = keys.episodeChange(guid, change.metadata.sync_id);
      const existingChange = (writes.get(newKey) ?? (await this.store.get(newKey))) as
        EpisodeChange | undefined;
      const merged = existingChange ? mergeEpisodeChanges(existingChange, change) : change;
      writes.set(key, undefined);
      writes.set(newKey, { ...merged, podcast_guid: guid });
    }
  }

  /** Stores each page of episodes immediately, and the stamp after the last page. */
  async #readEpisodes(): Promise<void> {
    const { episodes: since } = await readMeta(this.store);
    let stamp: string | undefined;
    for await (const page of this.api.episodes(
      { since, perPage: rowsPerPage },
      { signal: this.signal },
    )) {
      stamp ??= page.syncTimestamp;
      await updateRecords(this.store, async (writes) => {
        // A read without `since` returns the whole list, without merged episodes.
        if (since !== undefined && (await this.#canContainMerge(page.episodes)))
          await writeMeta(this.store, writes, { needsCount: true });
        storeEpisodes(page.episodes, writes);
      });
    }
    await this.#updateMeta({ episodes: stamp });
  }

  /**
   * Returns true if the server can have merged a stored episode into a listed one: both share a
   * guid or URL, or the store lacks the subscription. Lists do not report merged episodes.
   */
  async #canContainMerge(episodes: readonly Episode[]): Promise<boolean> {
    const index = new EpisodeIndex();
    for (const podcast of new Set(episodes.map((episode) => episode.podcast_guid))) {
      if (!(await this.store.get(keys.subscription(podcast)))) return true;
      for (const [, row] of await this.store.list(keys.episode(podcast, '')))
        index.add(row as Episode);
    }
    return episodes.some((episode) =>
      index.syncIdsOf(episode).some((syncId) => syncId !== episode.sync_id),
    );
  }

  /**
   * Compares the number of stored episodes with the server's number, and reads all episodes again
   * if the numbers differ. Lists do not report episodes that a merge or a new subscription removed.
   *
   * @returns false if it compared nothing, because the server's stamp differs from a stored stamp
   *   after a concurrent write.
   */
  async #reloadIfCountsDiffer(): Promise<boolean> {
    const meta = await readMeta(this.store);
    const { total, syncTimestamp } = await this.api.listEpisodes(
      { perPage: 1 },
      { signal: this.signal },
    );
    if (syncTimestamp !== meta.subscriptions || syncTimestamp !== meta.episodes) return false;
    if ((await this.store.list(prefixes.episodes)).length === total)
      await this.#updateMeta({ needsCount: false });
    else await this.#reloadEpisodes();
    return true;
  }

  async #reloadEpisodes(): Promise<void> {
    const listedKeys = new Set<string>();
    let stamp: string | undefined;
    for await (const page of this.api.episodes({ perPage: rowsPerPage }, { signal: this.signal })) {
      stamp ??= page.syncTimestamp;
      for (const { podcast_guid, sync_id } of page.episodes)
        listedKeys.add(keys.episode(podcast_guid, sync_id));
      await updateRecords(this.store, async (writes) => storeEpisodes(page.episodes, writes));
    }
    await updateRecords(this.store, async (writes) => {
      for (const [key] of await this.store.list(prefixes.episodes))
        if (!listedKeys.has(key)) writes.set(key, undefined);
      const { subscriptions: subscriptionsStamp } = await readMeta(this.store);
      // Stored subscriptions can lack a deletion that happened during the read.
      const needsCountCheck = stamp !== subscriptionsStamp;
      await writeMeta(this.store, writes, { episodes: stamp, needsCount: needsCountCheck });
    });
  }

  #updateMeta(fields: Partial<SyncMetadata>): Promise<void> {
    return updateRecords(this.store, (writes) => writeMeta(this.store, writes, fields));
  }
}

function storeEpisodes(episodes: readonly Episode[], writes: PendingWrites): void {
  for (const episode of episodes)
    writes.set(keys.episode(episode.podcast_guid, episode.sync_id), episode);
}
