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

/** Returns the episodes of a feed, the newest first; undefined before the load. */
export function episodesOfFeed(guid: string): readonly FeedEpisode[] | undefined {
  return loadedFeeds.value.get(guid)?.episodes;
}

/** Loads the episodes of a feed if they are not loaded or the feed has changed since. */
export async function loadEpisodesOfFeed(guid: string): Promise<void> {
  const podcast = podcasts.value.get(guid);
  if (!podcast || !needsLoad(podcast)) return;
  const api = await apiOfUser();
  const answer = await retryUntilAnswered(() => api.feedEpisodes(guid)).catch((error: unknown) => {
    // The listener has unsubscribed meanwhile.
    if (error instanceof ApiError && error.code === 'not_found') return { episodes: [] };
    throw error;
  });
  loadedFeeds.value = new Map(loadedFeeds.value).set(guid, { podcast, episodes: answer.episodes });
}

/** Returns true if a feed's episodes are not loaded, or the feed has changed since the load. */
function needsLoad(podcast: Podcast): boolean {
  return podcast.status !== 'pending' && loadedFeeds.value.get(podcast.guid)?.podcast !== podcast;
}

/** Podcasts that have episodes, the one with the newest episode first. Omits former guids. */
const podcastsByNewest = computed(() =>
  [...podcasts.value.values()]
    .filter(({ guid, latest_publish_date: date }) => date && currentGuid(guid) === guid)
    .sort((one, other) => compareDates(getNewestDate(other), getNewestDate(one))),
);

const getNewestDate = ({ latest_publish_date: date = '' }: Podcast) => date;

/** The newest episodes of all podcasts, newest first, with the listener's statuses. */
export const newestEpisodes = computed(() => {
  const nextPodcast = podcastsByNewest.value.find(
    (podcast) => needsLoad(podcast) && !loadedFeeds.value.has(podcast.guid),
  );
  // Omits episodes up to this date, because feeds that are not loaded can have episodes among them.
  const earliestDate = nextPodcast ? getNewestDate(nextPodcast) : '';
  const shownEpisodes = podcastsByNewest.value
    .flatMap(({ guid }) => episodesOfFeed(guid) ?? [])
    .filter(({ publish_date: date }) => date !== undefined && date > earliestDate)
    .sort((one, other) => compareDates(other.publish_date, one.publish_date));
  return withStatuses(shownEpisodes, episodes.value);
});

let nextFeedsLoad: Promise<void> | undefined;

/** Loads feeds until {@link newestEpisodes} grows or all feeds are loaded. @throws ApiError */
export function loadMoreNewest(): Promise<void> {
  nextFeedsLoad ??= loadNextFeeds().finally(() => (nextFeedsLoad = undefined));
  return nextFeedsLoad;
}

async function loadNextFeeds(): Promise<void> {
  const countBefore = newestEpisodes.value.length;
  for (;;) {
    const nextPodcasts = podcastsByNewest.value.filter(needsLoad);
    if (nextPodcasts.length === 0) return;
    await Promise.all(
      nextPodcasts.slice(0, maxParallelLoads).map(({ guid }) => loadEpisodesOfFeed(guid)),
    );
    if (newestEpisodes.value.length > countBefore) return;
  }
}
