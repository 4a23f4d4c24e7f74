import { computed, signal } from '@preact/signals';
import type { Api, Episode } from '#client';
import { untilAnswered } from './network.js';
import { Pulls } from './pulls.js';
import { connect } from './session.js';

export type { Episode };

const perPage = 100;

/** Loaded episodes, the newest first. */
const listed = new Map<string, Episode>();
/** Episodes that changed while the page was open, the latest last. */
const fresh = new Map<string, Episode>();
const version = signal(0);
/** The link to the page of older episodes; `null` without one. */
let older: string | null | undefined;

/** Episodes for the list: changes since the page was opened, then the loaded ones, newest first. */
export const episodes = computed((): readonly Episode[] => {
  void version.value;
  return [...[...fresh.values()].reverse(), ...listed.values()];
});
/** The total on the server; undefined before the first response. */
export const total = signal<number>();
/** True after all episodes are loaded. */
export const isComplete = signal(false);
const isLoading = signal(false);

/** Loads the newest episodes, then the changes. */
export const episodePulls = new Pulls(async (since) => {
  const api = await connect();
  if (since !== undefined) {
    let now = since;
    for await (const page of api.episodes({ since })) {
      for (const episode of page.episodes) put(episode);
      version.value++;
      now = page.syncTimestamp;
    }
    return now;
  }
  const page = await untilAnswered(() => lastPage(api));
  total.value = page.total;
  append(page);
  return page.syncTimestamp;
});

/** Returns the last page of the list, which starts with the oldest episode. */
async function lastPage(api: Api) {
  const first = await api.listEpisodes({ perPage });
  if (first.next === undefined) return first;
  const last = await api.listEpisodes({ page: Math.ceil(first.total / perPage), perPage });
  // The timestamp of the first request: changes between the two requests are returned again.
  return { ...last, syncTimestamp: first.syncTimestamp };
}

/** Loads the next page of older episodes. */
export async function loadOlder(): Promise<void> {
  const link = older;
  if (!link || isLoading.value) return;
  isLoading.value = true;
  try {
    const api = await connect();
    append(await untilAnswered(() => api.listEpisodes({ link })));
  } finally {
    isLoading.value = false;
  }
}

function append(page: { episodes: readonly Episode[]; previous?: string }): void {
  for (const episode of [...page.episodes].reverse())
    if (!fresh.has(episode.sync_id)) listed.set(episode.sync_id, episode);
  older = page.previous ?? null;
  isComplete.value = older === null;
  version.value++;
}

function put(episode: Episode): void {
  const { sync_id: id } = episode;
  if (listed.has(id)) listed.set(id, episode);
  else {
    fresh.delete(id);
    fresh.set(id, episode);
    if (total.value !== undefined && total.value < fresh.size + listed.size)
      total.value = fresh.size + listed.size;
  }
}
