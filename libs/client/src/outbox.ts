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

// The outbox: the listener's changes until the server has confirmed them (ADR 28). It holds the
// latest state of each field and not a log.

/** Values of an episode that a listener can set. Each gets the time of the call. */
export type EpisodeStates = { [Name in StatusName]?: NonNullable<Episode[Name]>['value'] };

const minuteMs = 60_000;

/** Returns the guid of the stored subscription to a feed, else the guid derived from its URL. */
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
  const sent = await readSentChanges<SubscriptionChange>(store, key);
  const earlier = [...pending.actions, ...sent.flatMap(({ actions }) => actions)];
  const time = nextChangeTime(earlier, now, await readMeta(store));
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
  const row = await findStoredEpisode(store, podcast, metadata);
  const prefix = keys.episodeChange(podcast, '');
  const pending = (await store.list(prefix)).map(([, change]) => change as EpisodeChange);
  const sent = await readSentChanges<EpisodeChange>(store, prefix);
  const identifiers = { ...metadata, ...(row && { sync_id: row.sync_id }) };
  const earlier = [...pending, ...sent].filter(
    (other) => other.podcast_guid === podcast && isSameEpisode(other.metadata, identifiers),
  );
  const sync_id = row?.sync_id ?? earlier[0]?.metadata.sync_id ?? metadata.sync_id ?? randomUuid();
  const change = pending.find((other) => other.metadata.sync_id === sync_id);
  const meta = await readMeta(store);
  const next: EpisodeChange = {
    ...change,
    podcast_guid: podcast,
    metadata: { ...change?.metadata, ...metadata, sync_id },
    states: { ...change?.states },
  };
  for (const [name, value] of Object.entries(states) as [
    StatusName,
    number | boolean | undefined,
  ][]) {
    if (value === undefined) continue;
    const before = earlier
      .map((other) => other.states[name])
      .filter((state) => state !== undefined);
    const time = nextChangeTime(before, now, meta);
    const after = Math.max(time.after, displayedTime(row?.[name], time, now));
    next.states[name] = { value, ...time, after };
  }
  writes.set(keys.episodeChange(podcast, sync_id), next);
  return sync_id;
}

/**
 * Returns the time of a change made now. It is later than earlier changes of the same row and than
 * all data read from the server.
 */
function nextChangeTime(
  earlier: readonly ChangeTime[],
  now: number,
  meta: SyncMetadata,
): ChangeTime {
  const stamps = [meta.subscriptions, meta.episodes].map((stamp) =>
    stamp === undefined ? 0 : Date.parse(stamp),
  );
  return {
    at: Math.max(now, ...earlier.map(({ at }) => at + 1)),
    offset: meta.offset,
    after: Math.max(...stamps, ...earlier.map(({ after }) => after + 1)),
  };
}

/**
 * Returns the time of a stored status in server milliseconds, or 0 without a status. The server
 * returns whole minutes, and the result is the start of the minute. For a status in the future,
 * set by a device whose clock was ahead, it is the end of the minute.
 */
function displayedTime(
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

/** Returns the sent and then the unsent changes with the key prefix that no pull has read back. */
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
  // Reads the batch in flight first, so that a batch that is answered meanwhile is not missed.
  const inFlight = (await store.get(keys.batch)) as Batch | undefined;
  const answered = (await store.list(keys.done(''))) as [string, Batch][];
  const batches = [...answered.map(([, batch]) => batch), ...(inFlight ? [inFlight] : [])];
  const changes = batches.flatMap((batch) => batch.changes);
  return changes.filter(([key]) => key.startsWith(prefix)).map(([, change]) => change as Change);
}
