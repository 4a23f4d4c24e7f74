import { computed, signal } from '@preact/signals';
import type { Api, Episode, EpisodeStates, StatusName, Statuses } from '#client';
import { ChangeLoader } from './change.loader.js';
import {
  changesOfPodcasts,
  type EpisodeChange,
  timeOfChange,
  withChanges,
} from './episode.rules.js';
import { retryUntilAnswered } from './network.js';
import { connect } from './session.js';
import {
  isComplete as areSubscriptionsComplete,
  type Outcome,
  subscriptionByGuid,
  subscriptionLoader,
} from './subscriptions.js';

export type { Episode };

/** Page sizes. The first page is small for a fast first view. */
const perPage = { first: 100, others: 250 };

/** Episodes of the podcasts whose pages were opened, by the podcast's guid. */
const ofPodcasts = signal<ReadonlyMap<string, readonly Episode[]>>(new Map());

/** Episodes of the loaded pages, the newest first. */
const loaded = new Map<string, Episode>();
/** Episodes that changed while the page was open, the latest last. They are not in `loaded`. */
const changed = new Map<string, Episode>();
/** Increases with each change of the maps. */
const version = signal(0);
/** Link to the next page of older episodes; `undefined` before the first page, then `null`. */
let olderLink: string | null | undefined;

/** Changes that wait for their responses, in the order of the listener's actions. */
export const pendingChanges = signal<readonly EpisodeChange[]>([]);

/**
 * Episodes of the list, with {@link pendingChanges}. First are those outside the loaded pages that
 * changed while the page was open, latest change first; then the loaded pages, newest first. A
 * change of a loaded episode does not move it.
 */
export const episodes = computed((): readonly Episode[] => {
  void version.value;
  const rows = [...[...changed.values()].reverse(), ...loaded.values()];
  return withChanges(rows, pendingChanges.value);
});
/** The number of episodes on the server; undefined before the first response. */
export const total = signal<number>();
/** True after all episodes are loaded. */
export const isComplete = signal(false);
/** The number of episodes of the list. */
export const loadedCount = computed(() => {
  void version.value;
  return changed.size + loaded.size;
});
/** Time of the latest change of the episodes of each podcast, by guid. */
export const changesByPodcast = computed(() => changesOfPodcasts(episodes.value));

/** Loads a page of the newest episodes in the first run, and only the changes in later runs. */
export const episodeLoader = new ChangeLoader(async (since) => {
  const api = await connect();
  if (since !== undefined) {
    let stamp = since;
    for await (const page of api.episodes({ since })) {
      await loadPodcastsOf(page.episodes);
      for (const episode of page.episodes) applyChange(episode);
      version.value++;
      stamp = page.syncTimestamp;
    }
    return stamp;
  }
  const page = await retryUntilAnswered(() => readLastPage(api));
  await loadPodcastsOf(page.episodes);
  total.value = page.total;
  appendPage(page);
  return page.syncTimestamp;
});

/** Loads new subscriptions before the lists show their episodes, so that these have names. */
async function loadPodcastsOf(rows: readonly Episode[]): Promise<void> {
  const isUnknown = rows.some(({ podcast_guid: guid }) => !subscriptionByGuid(guid));
  if (isUnknown && areSubscriptionsComplete.value) await subscriptionLoader.notify();
}

/** Returns the page with the newest episodes, which is the last one of the list. */
async function readLastPage(api: Api) {
  const first = await api.listEpisodes({ perPage: perPage.first });
  if (first.next === undefined) return first;
  const last = await api.listEpisodes({
    page: Math.ceil(first.total / perPage.first),
    perPage: perPage.first,
  });
  // The timestamp of the first request: changes between the two requests are returned again.
  return { ...last, syncTimestamp: first.syncTimestamp };
}

let loadingOlder: Promise<void> | undefined;

/** Loads the next page of older episodes, if there is one. @throws ApiError */
export function loadOlderEpisodes(): Promise<void> {
  loadingOlder ??= readOlderPage().finally(() => (loadingOlder = undefined));
  return loadingOlder;
}

async function readOlderPage(): Promise<void> {
  // Replaces the page size of the first page, which is small. The API uses only a link's query.
  const link = olderLink?.replace(/\bper_page=\d+/, `per_page=${perPage.others}`);
  if (link === undefined) return;
  const api = await connect();
  const page = await retryUntilAnswered(() => api.listEpisodes({ link }));
  await loadPodcastsOf(page.episodes);
  appendPage(page);
}

/** Loads all episodes, or the newest ones until `limit` are loaded. @throws ApiError */
export async function loadAllEpisodes(limit = Infinity): Promise<void> {
  await episodeLoader.load();
  while (!isComplete.value && loadedCount.value < limit) await loadOlderEpisodes();
}

/** Loads the history of a podcast once. @throws ApiError */
export async function loadHistoryOf(guid: string): Promise<void> {
  // The first page of the history, after which changes are loaded.
  await episodeLoader.load();
  if (isComplete.value || ofPodcasts.value.has(guid)) return;
  const api = await connect();
  const read = async () => {
    const rows: Episode[] = [];
    for await (const page of api.episodes({ podcastGuid: guid, perPage: perPage.others }))
      rows.push(...page.episodes);
    return rows;
  };
  ofPodcasts.value = new Map(ofPodcasts.value).set(guid, await retryUntilAnswered(read));
}

/** Returns the history of a podcast; `undefined` before {@link loadHistoryOf} has ended. */
export function historyOf(guid: string): readonly Episode[] | undefined {
  const all = ofPodcasts.value.get(guid);
  const listed = episodes.value.filter(({ podcast_guid }) => podcast_guid === guid);
  if (isComplete.value) return listed;
  // An episode can be in both lists. The row of `episodes` has the later changes.
  const current = new Set(listed.map(({ sync_id }) => sync_id));
  return (
    all && [
      ...listed,
      ...withChanges(
        all.filter(({ sync_id }) => !current.has(sync_id)),
        pendingChanges.value,
      ),
    ]
  );
}

function appendPage(page: { episodes: readonly Episode[]; previous?: string }): void {
  for (const episode of [...page.episodes].reverse())
    if (!changed.has(episode.sync_id)) loaded.set(episode.sync_id, episode);
  olderLink = page.previous ?? null;
  isComplete.value = olderLink === null;
  version.value++;
}

function applyChange(episode: Episode): void {
  const { sync_id: id } = episode;
  if (loaded.has(id)) loaded.set(id, episode);
  else {
    changed.delete(id);
    changed.set(id, episode);
    if (total.value !== undefined && total.value < changed.size + loaded.size)
      total.value = changed.size + loaded.size;
  }
}

/** Ends when the last change has its response. */
let sending: Promise<unknown> = Promise.resolve();
/** Time of the last change in milliseconds. */
let lastChange = 0;

/**
 * Sets statuses of an episode, with the time of the call. The lists show them before the response.
 * Changes are sent one after the other, in the order of the calls.
 *
 * @returns `superseded` if another device has set one of them at a later time.
 */
export async function changeEpisode(episode: Episode, values: EpisodeStates): Promise<Outcome> {
  const api = await connect();
  const now = Date.now() + api.clockOffset;
  const time = timeOfChange(now, episodeLoader.since ?? '1970-01-01', episode);
  lastChange = Math.max(time, lastChange + 1);
  const timestamp = new Date(lastChange).toISOString();
  const { podcast_guid, sync_id } = episode;
  const change: EpisodeChange = {
    podcast_guid,
    sync_id,
    ...(Object.fromEntries(
      Object.entries(values).map(([name, value]) => [name, { value, timestamp }]),
    ) as Statuses),
  };
  pendingChanges.value = [...pendingChanges.value, change];
  const sent = sending.then(() => sendChange(api, change, values));
  sending = sent;
  return sent;
}

async function sendChange(
  api: Api,
  change: EpisodeChange,
  values: EpisodeStates,
): Promise<Outcome> {
  try {
    const { success, failure } = await retryUntilAnswered(() => api.uploadEpisodes([change]));
    const [row] = success;
    if (!row) return failure[0]?.code ?? 'failed';
    applyChange(row);
    version.value++;
    const isSet = Object.entries(values).every(
      ([name, value]) => row[name as StatusName]?.value === value,
    );
    return isSet ? 'done' : 'superseded';
  } catch {
    return 'failed';
  } finally {
    pendingChanges.value = pendingChanges.value.filter((other) => other !== change);
  }
}
