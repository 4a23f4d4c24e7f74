import { computed, signal } from '@preact/signals';
import type { Api, Episode, EpisodeStates, StatusName, Statuses } from '#client';
import { ChangeLoader } from './change-loader.js';
import {
  applyPendingChanges,
  type EpisodeChange,
  lastChangesByPodcast,
  timeOfChange,
} from './episode.rules.js';
import { retryUntilAnswered } from './network.js';
import { apiOfUser } from './session.js';
import {
  areAllSubscriptionsLoaded,
  type ChangeOutcome,
  currentGuid,
  subscriptionByGuid,
  subscriptionLoader,
} from './subscriptions.js';

export type { Episode };

/** Numbers of episodes per page. The first page is small, so that it appears fast. */
const pageSizes = { first: 100, others: 250 };

/** Histories of the podcasts whose pages were opened, by the podcast's guid. */
const historyByPodcast = signal<ReadonlyMap<string, readonly Episode[]>>(new Map());

/** Episodes of the loaded pages, the newest first. */
const loadedEpisodes = new Map<string, Episode>();
/** Episodes outside the loaded pages that changed while the page was open, the latest last. */
const changedEpisodes = new Map<string, Episode>();
/** Increases with each change of the two maps, so that computed signals run again. */
const listVersion = signal(0);
/** Link to the next page of older episodes; `undefined` before the first page, then `null`. */
let olderLink: string | null | undefined;

/** Changes of episodes that have no response yet, in the order of the listener's actions. */
export const pendingEpisodeChanges = signal<readonly EpisodeChange[]>([]);

/**
 * Episodes of the list, with {@link pendingEpisodeChanges}. First are those outside the loaded
 * pages that changed while the page was open, latest change first; then the loaded pages, newest
 * first. A change of a loaded episode does not move it.
 */
export const episodes = computed((): readonly Episode[] => {
  void listVersion.value;
  const rows = [...[...changedEpisodes.values()].reverse(), ...loadedEpisodes.values()];
  return applyPendingChanges(rows.map(withCurrentGuid), pendingEpisodeChanges.value);
});

/** Returns an episode with the current guid of its podcast, which can change after the load. */
function withCurrentGuid(episode: Episode): Episode {
  const guid = currentGuid(episode.podcast_guid);
  return guid === episode.podcast_guid ? episode : { ...episode, podcast_guid: guid };
}

/** The number of episodes on the server; undefined before the first response. */
export const totalEpisodes = signal<number>();
/** True after all episodes are loaded. */
export const areAllEpisodesLoaded = signal(false);
/** Number of loaded episodes, including those that changed while the page was open. */
export const loadedEpisodeCount = computed(() => {
  void listVersion.value;
  return changedEpisodes.size + loadedEpisodes.size;
});
/** Time of the latest change of the episodes of each podcast, by guid. */
export const changesByPodcast = computed(() => lastChangesByPodcast(episodes.value));

/** Loads a page of the newest episodes at first, and only changes afterwards. */
export const episodeLoader = new ChangeLoader(async (since) => {
  const api = await apiOfUser();
  if (since !== undefined) {
    let stamp = since;
    for await (const page of api.episodes({ since })) {
      await loadPodcastsOf(page.episodes);
      for (const episode of page.episodes) applyChange(episode);
      listVersion.value++;
      stamp = page.syncTimestamp;
    }
    return stamp;
  }
  const page = await retryUntilAnswered(() => readLastPage(api));
  await loadPodcastsOf(page.episodes);
  totalEpisodes.value = page.total;
  appendPage(page);
  return page.syncTimestamp;
});

/** Loads new subscriptions before the lists show their episodes, so that these have names. */
async function loadPodcastsOf(rows: readonly Episode[]): Promise<void> {
  const isUnknown = rows.some(({ podcast_guid: guid }) => !subscriptionByGuid(guid));
  if (isUnknown && areAllSubscriptionsLoaded.value) await subscriptionLoader.notify();
}

/** Returns the page with the newest episodes, which is the last one of the list. */
async function readLastPage(api: Api) {
  const first = await api.listEpisodes({ perPage: pageSizes.first });
  if (first.next === undefined) return first;
  const last = await api.listEpisodes({
    page: Math.ceil(first.total / pageSizes.first),
    perPage: pageSizes.first,
  });
  // The next poll starts at the first timestamp, to get changes between the two requests.
  return { ...last, syncTimestamp: first.syncTimestamp };
}

let loadingOlder: Promise<void> | undefined;

/** Loads the next page of older episodes, if there is one. @throws ApiError */
export function loadOlderEpisodes(): Promise<void> {
  loadingOlder ??= readOlderPage().finally(() => (loadingOlder = undefined));
  return loadingOlder;
}

async function readOlderPage(): Promise<void> {
  // Replaces the page size in the link, which is that of the small first page.
  const link = olderLink?.replace(/\bper_page=\d+/, `per_page=${pageSizes.others}`);
  if (link === undefined) return;
  const api = await apiOfUser();
  const page = await retryUntilAnswered(() => api.listEpisodes({ link }));
  await loadPodcastsOf(page.episodes);
  appendPage(page);
}

/** Loads all episodes, or the newest ones until `limit` are loaded. @throws ApiError */
export async function loadAllEpisodes(limit = Infinity): Promise<void> {
  await episodeLoader.load();
  while (!areAllEpisodesLoaded.value && loadedEpisodeCount.value < limit) await loadOlderEpisodes();
}

/** Loads the history of a podcast once. @throws ApiError */
export async function loadHistoryOf(guid: string): Promise<void> {
  // Loads the newest episodes first, so that later loads get all changes.
  await episodeLoader.load();
  if (areAllEpisodesLoaded.value || historyByPodcast.value.has(guid)) return;
  const api = await apiOfUser();
  const read = async () => {
    const rows: Episode[] = [];
    for await (const page of api.episodes({ podcastGuid: guid, perPage: pageSizes.others }))
      rows.push(...page.episodes);
    return rows;
  };
  historyByPodcast.value = new Map(historyByPodcast.value).set(
    guid,
    await retryUntilAnswered(read),
  );
}

/** Returns the history of a podcast; `undefined` before {@link loadHistoryOf} has ended. */
export function historyOf(guid: string): readonly Episode[] | undefined {
  const all = historyByPodcast.value.get(guid);
  const listed = episodes.value.filter(({ podcast_guid }) => podcast_guid === guid);
  if (areAllEpisodesLoaded.value) return listed;
  // Of an episode that is in both lists, the row of `episodes` has the later changes.
  const current = new Set(listed.map(({ sync_id }) => sync_id));
  return (
    all && [
      ...listed,
      ...applyPendingChanges(
        all.filter(({ sync_id }) => !current.has(sync_id)),
        pendingEpisodeChanges.value,
      ),
    ]
  );
}

function appendPage(page: { episodes: readonly Episode[]; previous?: string }): void {
  for (const episode of [...page.episodes].reverse())
    if (!changedEpisodes.has(episode.sync_id)) loadedEpisodes.set(episode.sync_id, episode);
  olderLink = page.previous ?? null;
  areAllEpisodesLoaded.value = olderLink === null;
  listVersion.value++;
}

function applyChange(episode: Episode): void {
  const { sync_id: id } = episode;
  if (loadedEpisodes.has(id)) loadedEpisodes.set(id, episode);
  else {
    changedEpisodes.delete(id);
    changedEpisodes.set(id, episode);
    if (
      totalEpisodes.value !== undefined &&
      totalEpisodes.value < changedEpisodes.size + loadedEpisodes.size
    )
      totalEpisodes.value = changedEpisodes.size + loadedEpisodes.size;
  }
}

/** Resolves when the last sent change has its response. */
let lastRequest: Promise<unknown> = Promise.resolve();
/** Time of the listener's last change, in milliseconds since 1970. */
let lastChangeTime = 0;

/**
 * Sets statuses of an episode, with the time of the call. The lists show them before the response.
 * Changes are sent one after the other, in the order of the calls.
 *
 * @returns `superseded` if another device has set one of them at a later time.
 */
export async function changeEpisode(
  episode: Episode,
  values: EpisodeStates,
): Promise<ChangeOutcome> {
  const api = await apiOfUser();
  const now = Date.now() + api.clockOffset;
  const time = timeOfChange(now, episodeLoader.loadedUntil ?? '1970-01-01', episode);
  lastChangeTime = Math.max(time, lastChangeTime + 1);
  const timestamp = new Date(lastChangeTime).toISOString();
  const { podcast_guid, sync_id } = episode;
  const change: EpisodeChange = {
    podcast_guid,
    sync_id,
    ...(Object.fromEntries(
      Object.entries(values).map(([name, value]) => [name, { value, timestamp }]),
    ) as Statuses),
  };
  pendingEpisodeChanges.value = [...pendingEpisodeChanges.value, change];
  const sent = lastRequest.then(() => sendChange(api, change, values));
  lastRequest = sent;
  return sent;
}

async function sendChange(
  api: Api,
  change: EpisodeChange,
  values: EpisodeStates,
): Promise<ChangeOutcome> {
  try {
    const { success, failure } = await retryUntilAnswered(() => api.uploadEpisodes([change]));
    const [row] = success;
    if (!row) return failure[0]?.code ?? 'failed';
    applyChange(row);
    listVersion.value++;
    const isSet = Object.entries(values).every(
      ([name, value]) => row[name as StatusName]?.value === value,
    );
    return isSet ? 'done' : 'superseded';
  } catch {
    return 'failed';
  } finally {
    pendingEpisodeChanges.value = pendingEpisodeChanges.value.filter((other) => other !== change);
  }
}
