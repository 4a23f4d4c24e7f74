import { computed, signal } from '@preact/signals';
import type { Api, Episode } from '#client';
import { ChangeLoader } from './change.loader.js';
import { changesOfPodcasts } from './episode.rules.js';
import { retryUntilAnswered } from './network.js';
import { connect } from './session.js';

export type { Episode };

/** Page sizes. The first page is small for a fast first view. */
const perPage = { first: 100, others: 250 };

/** Episodes of the loaded pages, the newest first. */
const loaded = new Map<string, Episode>();
/** Episodes that changed while the page was open, the latest last. They are not in `loaded`. */
const changed = new Map<string, Episode>();
/** Increases with each change of the maps. */
const version = signal(0);
/** Link to the next page of older episodes; `undefined` before the first page, then `null`. */
let olderLink: string | null | undefined;

/**
 * Episodes of the list: first those outside the loaded pages that changed while the page was open,
 * latest change first; then the loaded pages, newest first. A change of a loaded episode does not
 * move it.
 */
export const episodes = computed((): readonly Episode[] => {
  void version.value;
  return [...[...changed.values()].reverse(), ...loaded.values()];
});
/** The number of episodes on the server; undefined before the first response. */
export const total = signal<number>();
/** True after all episodes are loaded. */
export const isComplete = signal(false);
/** Time of the latest change of the episodes of each podcast, by guid. */
export const changesByPodcast = computed(() => changesOfPodcasts(episodes.value));

/** Loads a page of the newest episodes in the first run, and only the changes in later runs. */
export const episodeLoader = new ChangeLoader(async (since) => {
  const api = await connect();
  if (since !== undefined) {
    let stamp = since;
    for await (const page of api.episodes({ since })) {
      for (const episode of page.episodes) applyChange(episode);
      version.value++;
      stamp = page.syncTimestamp;
    }
    return stamp;
  }
  const page = await retryUntilAnswered(() => readLastPage(api));
  total.value = page.total;
  appendPage(page);
  return page.syncTimestamp;
});

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
  appendPage(await retryUntilAnswered(() => api.listEpisodes({ link })));
}

/** Loads all episodes. @throws ApiError */
export async function loadAllEpisodes(): Promise<void> {
  await episodeLoader.load();
  while (!isComplete.value) await loadOlderEpisodes();
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
