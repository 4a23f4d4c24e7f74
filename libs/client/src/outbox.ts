import { areEqualUrls } from '../../contracts/src/feed-url.js';
import { isSameEpisode, compactActions } from './change.rules.js';
import { podcastGuid } from './podcast-guid.js';
import { randomUuid } from './random-uuid.js';
import {
  type Batch,
  type ChangeTime,
  type EpisodeChange,
  type EpisodeMetadata,
  keys,
  type SyncMetadata,
  type PendingWrites,
  readMeta,
  resolveGuid,
  type StatusName,
  type StoredSubscription,
  type SubscriptionAction,
  type SubscriptionChange,
} from './records.js';
import type { Store } from './store.js';
import type { Episode } from './wire.js';

// The outbox holds the listener's changes until the server has confirmed them (ADR 28): the latest
// change of each field, not a log.

/** Values of an episode that a listener can set. The SDK adds the time of the call. */
export type EpisodeStates = { [Name in StatusName]?: NonNullable<Episode[Name]>['value'] };

const minuteMs = 60_000;

/** Returns the guid of the stored subscription to a feed, else the guid derived from the URL. */
export async function guidOfFeed(store: Store, feedUrl: string): Promise<string> {
  const rows = await store.list(keys.subscription(''));
  const match = rows
    .map(([, row]) => row as StoredSubscription)
    .find((row) => areEqualUrls(row.feed_url, feedUrl));
  return match?.guid ?? resolveGuid(store, podcastGuid(feedUrl));
}

/** Adds a listener's action, such as `unsubscribe`, to the pending changes of a subscription. */
export async function addSubscriptionAction(
  store: Store,
  writes: PendingWrites,
  guid: string,
  action: Omit<SubscriptionAction, keyof ChangeTime>,
  now: number,
): Promise<void> {
  const key = keys.subscriptionChange(guid);
  const stored = (await store.get(key)) as SubscriptionChange | undefined;
  const pending = stored ?? { guid, actions: [] };
  const sentChanges = await readSentChanges<SubscriptionChange>(store, key);
  const earlierActions = [...pending.actions, ...sentChanges.flatMap(({ actions }) => actions)];
  const time = createChangeTime(earlierActions, now, await readMeta(store));
  const actions = compactActions([...pending.actions, { ...action, ...time }]);
  writes.set(key, { ...pending, actions });
}

/**
 * Adds a listener's change to the pending changes of an episode.
 *
 * @returns the `sync_id` of the episode: the server's, or a new one that the upload sends.
 */
export async function addEpisodeChange(
  store: Store,
  writes: PendingWrites,
  podcast: string,
  metadata: EpisodeMetadata,
  states: EpisodeStates,
  now: number,
): Promise<string> {
  const storedEpisode = await findStoredEpisode(store, podcast, metadata);
  const keyPrefix = keys.episodeChange(podcast, '');
  const pendingChanges = (await store.list(keyPrefix)).map(([, change]) => change as EpisodeChange);
  const sentChanges = await readSentChanges<EpisodeChange>(store, keyPrefix);
  const identifiers = { ...metadata, ...(storedEpisode && { sync_id: storedEpisode.sync_id }) };
  const earlierChanges = [...pendingChanges, ...sentChanges].filter(
    (other) => other.podcast_guid === podcast && isSameEpisode(other.metadata, identifiers),
  );
  const sync_id =
    storedEpisode?.sync_id ??
    earlierChanges[0]?.metadata.sync_id ??
    metadata.sync_id ??
    randomUuid();
  const pendingChange = pendingChanges.find((other) => other.metadata.sync_id === sync_id);
  const meta = await readMeta(store);
  const nextChange: EpisodeChange = {
    ...pendingChange,
    podcast_guid: podcast,
    metadata: { ...pendingChange?.metadata, ...metadata, sync_id },
    states: { ...pendingChange?.states },
  };
  for (const [name, value] of Object.entries(states) as [
    StatusName,
    number | boolean | undefined,
  ][]) {
    if (value === undefined) continue;
    const earlierStates = earlierChanges
      .map((other) => other.states[name])
      .filter((state) => state !== undefined);
    const time = createChangeTime(earlierStates, now, meta);
    const after = Math.max(time.after, computeDisplayedTime(storedEpisode?.[name], time, now));
    nextChange.states[name] = { value, ...time, after };
  }
  writes.set(keys.episodeChange(podcast, sync_id), nextChange);
  return sync_id;
}

/**
 * Returns the time of a new change. The time is later than the earlier changes of the same row and
 * than all data read from the server.
 */
function createChangeTime(
  earlier: readonly ChangeTime[],
  now: number,
  meta: SyncMetadata,
): ChangeTime {
  const syncStamps = [meta.subscriptions, meta.episodes].map((stamp) =>
    stamp === undefined ? 0 : Date.parse(stamp),
  );
  return {
    at: Math.max(now, ...earlier.map(({ at }) => at + 1)),
    offset: meta.offset,
    after: Math.max(...syncStamps, ...earlier.map(({ after }) => after + 1)),
  };
}

/**
 * Returns the time of a stored status in milliseconds of the server's clock; 0 without a status.
 * The server returns whole minutes. The result is the start of the minute. For a status in the
 * future, which a device with a fast clock has set, the result is the end of the minute.
 */
function computeDisplayedTime(
  status: { timestamp: string } | undefined,
  { offset, after }: ChangeTime,
  now: number,
): number {
  if (!status) return 0;
  const start = Date.parse(`${status.timestamp}:00.000Z`);
  return start > Math.max(now + offset, after) ? start + minuteMs : start;
}

async function findStoredEpisode(
  store: Store,
  podcast: string,
  metadata: EpisodeMetadata,
): Promise<Episode | undefined> {
  if (metadata.sync_id !== undefined) {
    const row = await store.get(keys.episode(podcast, metadata.sync_id));
    if (row) return row as Episode;
  }
  if (!metadata.episode_guid && !metadata.enclosure_url) return undefined;
  const rows = (await store.list(keys.episode(podcast, ''))) as [string, Episode][];
  return rows.map(([, row]) => row).find((row) => isSameEpisode(row, metadata));
}

/** Returns the changes with the key prefix until a pull has read their effect; sent ones first. */
export async function readUnconfirmedChanges<Change>(
  store: Store,
  prefix: string,
): Promise<Change[]> {
  const pending = await store.list(prefix);
  return [
    ...(await readSentChanges<Change>(store, prefix)),
    ...pending.map(([, change]) => change as Change),
  ];
}

/** Returns the sent, unconfirmed changes with the key prefix; the batch in flight comes last. */
async function readSentChanges<Change>(store: Store, prefix: string): Promise<Change[]> {
  // Reads the batch in flight before the answered ones. The reverse order would miss a batch that
  // is answered between the two reads.
  const inFlight = (await store.get(keys.batch)) as Batch | undefined;
  const answeredBatches = (await store.list(keys.done(''))) as [string, Batch][];
  const batches = [...answeredBatches.map(([, batch]) => batch), ...(inFlight ? [inFlight] : [])];
  const changes = batches.flatMap((batch) => batch.changes);
  return changes.filter(([key]) => key.startsWith(prefix)).map(([, change]) => change as Change);
}
