import { computed, signal } from '@preact/signals';
import type { Api, Episode } from '#client';
import { untilAnswered } from './network.js';
import { Pulls } from './pulls.js';
import { connect } from './session.js';

export type { Episode };

const perPage = 100;

/** From the newest to the oldest, as far as they were asked for. */
const listed = new Map<string, Episode>();
/** What changed while the page was open, the latest last. */
const fresh = new Map<string, Episode>();
const version = signal(0);
/** The link to the page of those before; `null` where there is none. */
let older: string | null | undefined;

/** What was listened to: what changed while the page was open first, then the newest first. */
export const episodes = computed((): readonly Episode[] => {
  void version.value;
  return [...[...fresh.values()].reverse(), ...listed.values()];
});
/** How many there are on the server; not known at first. */
export const total = signal<number>();
/** Whether all of them are there. */
export const isComplete = signal(false);
const isLoading = signal(false);

/** Brings the last ones in, then whatever changes. */
export const episodePulls = new Pulls(async (since, api) => {
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

/** The list begins with the oldest, so it is walked from its end. */
async function lastPage(api: Api) {
  const first = await api.listEpisodes({ perPage });
  if (first.next === undefined) return first;
  const last = await api.listEpisodes({ page: Math.ceil(first.total / perPage), perPage });
  // Of the time of the first: what changed between the two comes again.
  return { ...last, syncTimestamp: first.syncTimestamp };
}

/** Brings in the next older ones, where there are more. */
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
    // As the latest one.
    fresh.delete(id);
    fresh.set(id, episode);
    if (total.value !== undefined && total.value < fresh.size + listed.size) total.value = fresh.size + listed.size;
  }
}
