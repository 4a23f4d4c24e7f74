import { computed, signal } from '@preact/signals';
import { ApiError, type FeedEpisode, type Podcast } from '#client';
import { compareDates, withStatuses } from './episode.rules.js';
import { episodes } from './episodes.js';
import { retryUntilAnswered } from './network.js';
import { podcasts } from './podcasts.js';
import { connect } from './session.js';

const maxParallelLoads = 8;

/** Episodes of the loaded feeds, each with its podcast (`of`) at the time of the load. */
const loaded = signal<ReadonlyMap<string, { of: Podcast; episodes: readonly FeedEpisode[] }>>(
  new Map(),
);

/** Returns the episodes of a feed, the newest first; undefined if they are not loaded. */
export function episodesOfFeed(guid: string): readonly FeedEpisode[] | undefined {
  return loaded.value.get(guid)?.episodes;
}

/** Loads the episodes of a feed, unless they are loaded and the feed has not changed. */
export async function loadEpisodesOfFeed(guid: string): Promise<void> {
  const podcast = podcasts.value.get(guid);
  if (!podcast || !isOutdated(podcast)) return;
  const api = await connect();
  const answer = await retryUntilAnswered(() => api.feedEpisodes(guid)).catch((error: unknown) => {
    // The podcast was unsubscribed meanwhile.
    if (error instanceof ApiError && error.code === 'not_found') return { episodes: [] };
    throw error;
  });
  loaded.value = new Map(loaded.value).set(guid, { of: podcast, episodes: answer.episodes });
}

/** Returns true if the episodes of a feed are not loaded, or the feed changed since their load. */
function isOutdated(podcast: Podcast): boolean {
  return podcast.status !== 'pending' && loaded.value.get(podcast.guid)?.of !== podcast;
}

/** Podcasts with episodes, ordered by their newest episode. */
const byNewest = computed(() =>
  [...podcasts.value.values()]
    .filter((podcast) => podcast.latest_publish_date !== undefined)
    .sort((one, other) => compareDates(newestOf(other), newestOf(one))),
);

const newestOf = ({ latest_publish_date: date = '' }: Podcast) => date;

/** The newest episodes of all podcasts, newest first, with the listener's statuses. */
export const newest = computed(() => {
  const next = byNewest.value.find(
    (podcast) => isOutdated(podcast) && !loaded.value.has(podcast.guid),
  );
  // Feeds that are not loaded have no episodes after `end`.
  const end = next ? newestOf(next) : '';
  const shown = byNewest.value
    .flatMap(({ guid }) => episodesOfFeed(guid) ?? [])
    .filter(({ publish_date: date }) => date !== undefined && date > end)
    .sort((one, other) => compareDates(other.publish_date, one.publish_date));
  return withStatuses(shown, episodes.value);
});

let loadingNewest: Promise<void> | undefined;

/** Loads the next feeds until {@link newest} has more episodes. @throws ApiError */
export function loadNewest(): Promise<void> {
  loadingNewest ??= loadNextFeeds().finally(() => (loadingNewest = undefined));
  return loadingNewest;
}

async function loadNextFeeds(): Promise<void> {
  const before = newest.value.length;
  for (;;) {
    const next = byNewest.value.filter(isOutdated);
    if (next.length === 0) return;
    await Promise.all(next.slice(0, maxParallelLoads).map(({ guid }) => loadEpisodesOfFeed(guid)));
    if (newest.value.length > before) return;
  }
}
