import { newKey } from './key.js';
import { podcastGuid } from './podcast.guid.js';
import {
  type Batch,
  type EpisodeChange,
  type EpisodeFacts,
  isSame,
  type KnownSubscription,
  keys,
  type Meta,
  type StatusName,
  type SubscriptionChange,
} from './records.js';
import type { Store } from './store.js';
import type { Episode } from './wire.js';

/** What a listener may change of an episode: plain values, the time is that of the call. */
export type EpisodeStates = { [Name in StatusName]?: NonNullable<Episode[Name]>['value'] };

const minute = 60_000;

/** The current guid of a podcast that may have been known by another one. */
export async function currentGuid(store: Store, guid: string): Promise<string> {
  const alias = (await store.get(keys.alias(guid.toLowerCase()))) as { guid: string } | undefined;
  return alias?.guid ?? guid.toLowerCase();
}

/** The guid of a feed: of the subscription that has it, else the one that the server will derive. */
export async function guidOf(store: Store, feedUrl: string): Promise<string> {
  const rows = await store.list(keys.subscription(''));
  const found = rows.map(([, row]) => row as KnownSubscription).find((row) => row.feed_url === feedUrl);
  return found?.guid ?? currentGuid(store, podcastGuid(feedUrl));
}

/** Notes what the listener wants of a subscription; it replaces what waited of it before. */
export async function changeSubscription(
  store: Store,
  wanted: Omit<SubscriptionChange, 'at'>,
  now: number,
): Promise<void> {
  const key = keys.subscriptionChange(wanted.guid);
  const waiting = (await store.get(key)) as SubscriptionChange | undefined;
  const earlier = [waiting, ...(await sentBelow<SubscriptionChange>(store, key))];
  const at = Math.max(now, ...earlier.map((change) => (change?.at ?? 0) + 1));
  await store.write(new Map([[key, { ...wanted, at }]]));
}

/**
 * Notes what the listener did with an episode.
 *
 * @returns the `sync_id` that the episode has here: the server's, or one of its own that the server will know.
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
  const meta = (await store.get(keys.meta)) as Meta | undefined;
  const next: EpisodeChange = {
    ...change,
    podcast_guid: podcast,
    facts: { ...change?.facts, ...facts, sync_id: id },
    states: { ...change?.states },
  };
  for (const [name, value] of Object.entries(states) as [StatusName, number | boolean | undefined][]) {
    if (value === undefined) continue;
    // It is newer than all that stands, also where another device's clock, or this one's, is ahead.
    const stands = Math.max(...earlier.map((other) => (other.states[name]?.at ?? 0) + 1), 0);
    next.states[name] = { value, at: Math.max(now, stands, after(row?.[name]?.timestamp, now, meta?.offset ?? 0)) };
  }
  await store.write(new Map([[keys.episodeChange(podcast, id), next]]));
  return id;
}

/** The device's time at the end of a minute that the server shows, where that is still to come; else 0. */
function after(shown: string | undefined, now: number, offset: number): number {
  if (shown === undefined) return 0;
  const begins = Date.parse(`${shown}:00.000Z`) - offset;
  return begins > now ? begins + minute : 0;
}

/** The episode as the server has it. */
async function knownEpisode(store: Store, podcast: string, facts: EpisodeFacts): Promise<Episode | undefined> {
  if (facts.sync_id !== undefined) {
    const row = await store.get(keys.episode(podcast, facts.sync_id));
    if (row) return row as Episode;
  }
  if (!facts.episode_guid && !facts.enclosure_url) return undefined;
  const rows = (await store.list(keys.episodesOf(podcast))) as [string, Episode][];
  return rows.map(([, row]) => row).find((row) => isSame(row, facts));
}

/** The changes under keys that begin so, of all batches that were sent and are not read back yet. */
async function sentBelow<Change>(store: Store, prefix: string): Promise<Change[]> {
  const changes = (await sentBatches(store)).flatMap((batch) => batch.changes);
  return changes.filter(([key]) => key.startsWith(prefix)).map(([, change]) => change as Change);
}

/** All batches that were sent and are not read back yet, the one on its way last. */
export async function sentBatches(store: Store): Promise<Batch[]> {
  const done = (await store.list(keys.done(''))) as [string, Batch][];
  const batch = (await store.get(keys.batch)) as Batch | undefined;
  return [...done.map(([, sent]) => sent), ...(batch ? [batch] : [])];
}
