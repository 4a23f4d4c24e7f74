import { computed, signal } from '@preact/signals';
import { ApiError, type FeedEpisode, type Podcast } from '#client';
import { compareDates, withStatuses } from './episode.rules.js';
import { episodes } from './episodes.js';
import { retryUntilAnswered } from './network.js';
import { podcasts } from './podcasts.js';
import { apiOfUser } from './session.js';
import { currentGuid } from './subscriptions.js';

const maxParallelLoads = 8;

/** Episodes of the loaded feeds by guid, each with its podcast at the time of the load. */
const loadedFeeds = signal<
  ReadonlyMap<string, { podcast: Podcast; episodes: readonly FeedEpisode[] }>
>(new Map());

/** Returns the episodes of a feed, the newest first; undefined if they are not loaded. */
export function episodesOfFeed(guid: string): readonly FeedEpisode[] | undefined {
  return loadedFeeds.value.get(guid)?.episodes;
}

/** Loads the episodes of a feed, unless they are loaded and the feed has not changed. */
export async function loadEpisodesOfFeed(guid: string): Promise<void> {
  const podcast = podcasts.value.get(guid);
  if (!podcast || !isOutdated(podcast)) return;
  const api = await apiOfUser();
  const answer = await retryUntilAnswered(() => api.feedEpisodes(guid)).catch((error: unknown) => {
    // The listener has unsubscribed meanwhile, so the server returns no episodes.
    if (error instanceof ApiError && error.code === 'not_found') return { episodes: [] };
    throw error;
  });
  loadedFeeds.value = new Map(loadedFeeds.value).set(guid, { podcast, episodes: answer.episodes });
}

/** Returns true if a feed's episodes are not loaded, or the feed has changed since then. */
function isOutdated(podcast: Podcast): boolean {
  return podcast.status !== 'pending' && loadedFeeds.value.get(podcast.guid)?.podcast !== podcast;
}

/** Podcasts with episodes, by their current guids only, ordered by their newest episode. */
const podcastsByNewest = computed(() =>
  [...podcasts.value.values()]
    .filter(({ guid, latest_publish_date: date }) => date && currentGuid(guid) === guid)
    .sort((one, other) => compareDates(newestDateOf(other), newestDateOf(one))),
);

const newestDateOf = ({ latest_publish_date: date = '' }: Podcast) => date;

/** The newest episodes of all podcasts, newest first, with the listener's statuses. */
export const newestEpisodes = computed(() => {
  const next = podcastsByNewest.value.find(
    (podcast) => isOutdated(podcast) && !loadedFeeds.value.has(podcast.guid),
  );
  // Shows episodes until `end` only: the feeds that are not loaded have only earlier episodes.
  const end = next ? newestDateOf(next) : '';
  const shown = podcastsByNewest.value
    .flatMap(({ guid }) => episodesOfFeed(guid) ?? [])
    .filter(({ publish_date: date }) => date !== undefined && date > end)
    .sort((one, other) => compareDates(other.publish_date, one.publish_date));
  return withStatuses(shown, episodes.value);
});

let loadingNewest: Promise<void> | undefined;

/** Loads the next feeds until {@link newestEpisodes} has more episodes. @throws ApiError */
export function loadMoreNewest(): Promise<void> {
  loadingNewest ??= loadNextFeeds().finally(() => (loadingNewest = undefined));
  return loadingNewest;
}

async function loadNextFeeds(): Promise<void> {
  const before = newestEpisodes.value.length;
  for (;;) {
    const next = podcastsByNewest.value.filter(isOutdated);
    if (next.length === 0) return;
    await Promise.all(next.slice(0, maxParallelLoads).map(({ guid }) => loadEpisodesOfFeed(guid)));
    if (newestEpisodes.value.length > before) return;
  }
}
