import { areEqualUrls } from '../../contracts/src/feed.url.js';
import { newKey } from './key.js';
import { podcastGuid } from './podcast.guid.js';
import {
  type Act,
  type Batch,
  type EpisodeChange,
  type EpisodeFacts,
  isSame,
  type KnownSubscription,
  keys,
  type Meta,
  type Moment,
  neededActs,
  type StatusName,
  type SubscriptionChange,
} from './records.js';
import type { Store } from './store.js';
import type { Episode } from './wire.js';

/** Values of an episode that a listener can set. The time is that of the call. */
export type EpisodeStates = { [Name in StatusName]?: NonNullable<Episode[Name]>['value'] };

const minute = 60_000;

/** Returns the current guid of a podcast, given its current or a former guid. */
export async function currentGuid(store: Store, guid: string): Promise<string> {
  const alias = (await store.get(keys.alias(guid.toLowerCase()))) as { guid: string } | undefined;
  return alias?.guid ?? guid.toLowerCase();
}

/** Returns the guid of the subscription with the feed URL, or the guid that the server derives. */
export async function guidOf(store: Store, feedUrl: string): Promise<string> {
  const rows = await store.list(keys.subscription(''));
  const found = rows
    .map(([, row]) => row as KnownSubscription)
    .find((row) => areEqualUrls(row.feed_url, feedUrl));
  return found?.guid ?? currentGuid(store, podcastGuid(feedUrl));
}

/** Stores a listener's change of a subscription, merged with its pending changes. */
export async function changeSubscription(
  store: Store,
  guid: string,
  act: Omit<Act, keyof Moment>,
  now: number,
): Promise<void> {
  const key = keys.subscriptionChange(guid);
  const waiting = ((await store.get(key)) as SubscriptionChange | undefined) ?? { guid, acts: [] };
  const sent = (await sentBelow<SubscriptionChange>(store, key)).flatMap(({ acts }) => acts);
  const moment = momentAfter([...waiting.acts, ...sent], now, await metaOf(store));
  await store.write(
    new Map([[key, { ...waiting, acts: neededActs([...waiting.acts, { ...act, ...moment }]) }]]),
  );
}

/**
 * Stores a listener's change of an episode.
 *
 * @returns the `sync_id` of the episode: the server's, or a new one that the upload announces.
 */
export async function changeEpisode(
  store: Store,
  podcast: string,
  facts: EpisodeFacts,
  states: EpisodeStates,
  now: number,
): Promise<string> {
  const row = await knownEpisode(store, podcast, facts);
  const waiting = (await store.list(keys.episodeChange(podcast, ''))) as [string, EpisodeChange][];
  const sent = await sentBelow<EpisodeChange>(store, keys.episodeChange(podcast, ''));
  const same = ({ podcast_guid, facts: other }: EpisodeChange) =>
    podcast_guid === podcast && isSame(other, { ...facts, ...(row && { sync_id: row.sync_id }) });
  const earlier = [...waiting.map(([, change]) => change), ...sent].filter(same);
  const id = row?.sync_id ?? earlier[0]?.facts.sync_id ?? facts.sync_id ?? newKey();
  const change = waiting.find(([, other]) => other.facts.sync_id === id)?.[1];
  const meta = await metaOf(store);
  const next: EpisodeChange = {
    ...change,
    podcast_guid: podcast,
    facts: { ...change?.facts, ...facts, sync_id: id },
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
    const moment = momentAfter(before, now, meta);
    next.states[name] = {
      value,
      ...moment,
      after: Math.max(moment.after, shownTime(row?.[name], moment, now)),
    };
  }
  await store.write(new Map([[keys.episodeChange(podcast, id), next]]));
  return id;
}

/**
 * Returns the time of a change made now. It is later than earlier changes of the same row and than
 * all data read from the server.
 */
function momentAfter(earlier: readonly Moment[], now: number, meta: Meta): Moment {
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
 * Returns the server's time of a status, which is shown to the minute, in milliseconds. If the
 * status lies in the future, because a device's clock was ahead, the result is the end of its
 * minute.
 */
function shownTime(
  status: { timestamp: string } | undefined,
  { offset, after }: Moment,
  now: number,
): number {
  if (!status) return 0;
  const begins = Date.parse(`${status.timestamp}:00.000Z`);
  return begins > Math.max(now + offset, after) ? begins + minute : begins;
}

/** Returns the stored metadata, or its defaults. */
export async function metaOf(store: Store): Promise<Meta> {
  return ((await store.get(keys.meta)) as Meta | undefined) ?? { offset: 0, doubt: false };
}

async function knownEpisode(
  store: Store,
  podcast: string,
  facts: EpisodeFacts,
): Promise<Episode | undefined> {
  if (facts.sync_id !== undefined) {
    const row = await store.get(keys.episode(podcast, facts.sync_id));
    if (row) return row as Episode;
  }
  if (!facts.episode_guid && !facts.enclosure_url) return undefined;
  const rows = (await store.list(keys.episodesOf(podcast))) as [string, Episode][];
  return rows.map(([, row]) => row).find((row) => isSame(row, facts));
}

/** Returns changes with the key prefix from all batches that were sent and not read back yet. */
async function sentBelow<Change>(store: Store, prefix: string): Promise<Change[]> {
  const changes = (await sentBatches(store)).flatMap((batch) => batch.changes);
  return changes.filter(([key]) => key.startsWith(prefix)).map(([, change]) => change as Change);
}

/** Returns all batches that were sent and not read back yet. The batch in flight comes last. */
export async function sentBatches(store: Store): Promise<Batch[]> {
  const done = (await store.list(keys.done(''))) as [string, Batch][];
  const batch = (await store.get(keys.batch)) as Batch | undefined;
  return [...done.map(([, sent]) => sent), ...(batch ? [batch] : [])];
}
