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
/** Episodes outside the loaded pages that changed while the console was open, the latest last. */
const changedEpisodes = new Map<string, Episode>();
/** Increases with each change of the two maps, so that computed signals run again. */
const listVersion = signal(0);
/** Link to the next page of older episodes; `undefined` before the first page, then `null`. */
let olderLink: string | null | undefined;

/** Changes of episodes that have no response yet, in the order of the listener's actions. */
export const pendingEpisodeChanges = signal<readonly EpisodeChange[]>([]);

/**
 * Episodes of the list, with {@link pendingEpisodeChanges} applied. First are the changed episodes
 * outside the loaded pages, the latest change first. Then follow the loaded pages, the newest
 * episode first. A change of a loaded episode does not move the episode.
 */
export const episodes = computed((): readonly Episode[] => {
  void listVersion.value;
  const rows = [...[...changedEpisodes.values()].reverse(), ...loadedEpisodes.values()];
  return applyPendingChanges(rows.map(updateGuid), pendingEpisodeChanges.value);
});

/** Returns an episode with the current guid of its podcast. The guid can change after the load. */
function updateGuid(episode: Episode): Episode {
  const guid = currentGuid(episode.podcast_guid);
  return guid === episode.podcast_guid ? episode : { ...episode, podcast_guid: guid };
}

/** The number of episodes on the server; undefined before the first response. */
export const totalEpisodes = signal<number>();
/** True after all episodes are loaded. */
export const areAllEpisodesLoaded = signal(false);
/** Number of episodes in {@link episodes}. */
export const loadedEpisodeCount = computed(() => {
  void listVersion.value;
  return changedEpisodes.size + loadedEpisodes.size;
});
/** Time of the latest change of the episodes of each podcast, by guid. */
export const changesByPodcast = computed(() => lastChangesByPodcast(episodes.value));

/** Loads a page with the newest episodes first, and afterwards only changes. */
export const episodeLoader = new ChangeLoader(async (since) => {
  const api = await apiOfUser();
  if (since !== undefined) {
    let stamp = since;
    for await (const page of api.episodes({ since })) {
      await loadMissingPodcasts(page.episodes);
      for (const episode of page.episodes) storeChangedEpisode(episode);
      listVersion.value++;
      stamp = page.syncTimestamp;
    }
    return stamp;
  }
  const page = await retryUntilAnswered(() => readLastPage(api));
  await loadMissingPodcasts(page.episodes);
  totalEpisodes.value = page.total;
  appendPage(page);
  return page.syncTimestamp;
});

/** Loads new subscriptions before the lists show their episodes with the podcasts' names. */
async function loadMissingPodcasts(rows: readonly Episode[]): Promise<void> {
  const isPodcastMissing = rows.some(({ podcast_guid: guid }) => !subscriptionByGuid(guid));
  if (isPodcastMissing && areAllSubscriptionsLoaded.value) await subscriptionLoader.notify();
}

/** Returns the page with the newest episodes, which is the last one of the list. */
async function readLastPage(api: Api) {
  const first = await api.listEpisodes({ perPage: pageSizes.first });
  if (first.next === undefined) return first;
  const last = await api.listEpisodes({
    page: Math.ceil(first.total / pageSizes.first),
    perPage: pageSizes.first,
  });
  // The next poll starts at the first timestamp, because rows can change between the two requests.
  return { ...last, syncTimestamp: first.syncTimestamp };
}

let olderPageLoad: Promise<void> | undefined;

/** Loads the next page of older episodes, if there is one. @throws ApiError */
export function loadOlderEpisodes(): Promise<void> {
  olderPageLoad ??= readOlderPage().finally(() => (olderPageLoad = undefined));
  return olderPageLoad;
}

async function readOlderPage(): Promise<void> {
  // Replaces the small page size of the first page in the link.
  const link = olderLink?.replace(/\bper_page=\d+/, `per_page=${pageSizes.others}`);
  if (link === undefined) return;
  const api = await apiOfUser();
  const page = await retryUntilAnswered(() => api.listEpisodes({ link }));
  await loadMissingPodcasts(page.episodes);
  appendPage(page);
}

/** Loads all episodes, or the newest ones until `limit` are loaded. @throws ApiError */
export async function loadAllEpisodes(limit = Infinity): Promise<void> {
  await episodeLoader.load();
  while (!areAllEpisodesLoaded.value && loadedEpisodeCount.value < limit) await loadOlderEpisodes();
}

/** Loads the history of a podcast, unless it is loaded already. @throws ApiError */
export async function loadHistoryOf(guid: string): Promise<void> {
  // Starts `episodeLoader` first, which loads later changes of all podcasts.
  await episodeLoader.load();
  if (areAllEpisodesLoaded.value || historyByPodcast.value.has(guid)) return;
  const api = await apiOfUser();
  const readHistory = async () => {
    const rows: Episode[] = [];
    for await (const page of api.episodes({ podcastGuid: guid, perPage: pageSizes.others }))
      rows.push(...page.episodes);
    return rows;
  };
  historyByPodcast.value = new Map(historyByPodcast.value).set(
    guid,
    await retryUntilAnswered(readHistory),
  );
}

/** Returns the history of a podcast; `undefined` before {@link loadHistoryOf} has ended. */
export function historyOf(guid: string): readonly Episode[] | undefined {
  const loadedHistory = historyByPodcast.value.get(guid);
  const listedEpisodes = episodes.value.filter(({ podcast_guid }) => podcast_guid === guid);
  if (areAllEpisodesLoaded.value) return listedEpisodes;
  // If an episode is in both lists, the row of `episodes` has the later changes.
  const listedIds = new Set(listedEpisodes.map(({ sync_id }) => sync_id));
  return (
    loadedHistory && [
      ...listedEpisodes,
      ...applyPendingChanges(
        loadedHistory.filter(({ sync_id }) => !listedIds.has(sync_id)),
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

function storeChangedEpisode(episode: Episode): void {
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

/** Resolves after the response to the last sent change. */
let lastRequest: Promise<unknown> = Promise.resolve();
/** Time of the listener's last change, in milliseconds since 1970. */
let lastChangeTime = 0;

/**
 * Sets statuses of an episode at the time of the call. The lists show the statuses before the
 * response. Changes are sent one after the other, in the order of the calls.
 *
 * @returns `superseded` if another device has set one of the statuses at a later time.
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
    storeChangedEpisode(row);
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
