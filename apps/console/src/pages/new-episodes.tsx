import { untracked, useComputed, useSignal, useSignalEffect } from '@preact/signals';
import { useCallback, useEffect } from 'preact/hooks';
import { episodeKey, type ListedEpisode, publishDateOf } from '../data/episode.rules.js';
import { loadAllEpisodes } from '../data/episodes.js';
import { loadMoreNewest, newestEpisodes } from '../data/feed-episodes.js';
import { hasFeeds, podcastLoader, podcastName, podcasts } from '../data/podcasts.js';
import {
  areAllSubscriptionsLoaded,
  subscriptionByGuid,
  subscriptionLoader,
} from '../data/subscriptions.js';
import { texts } from '../texts/texts.js';
import { EpisodeRow } from '../ui/episode-row.js';
import { LoadFailure, Page } from '../ui/page.js';
import { Picture } from '../ui/picture.js';
import { WindowedList } from '../ui/windowed-list.js';

const { newest: t, podcast: podcastTexts } = texts;

/** Renders the newest episodes of all podcasts. Scrolling loads more. */
export function NewEpisodesPage() {
  const isLoading = useSignal(true);
  const hasFailed = useSignal(false);
  const showFailure = () => void (hasFailed.value = true);
  const loadMore = useCallback(() => void loadMoreNewest().catch(showFailure), []);
  const load = useCallback(() => {
    hasFailed.value = false;
    podcastLoader
      .load()
      .then(loadMoreNewest)
      .then(() => (isLoading.value = false))
      .catch(showFailure);
    // Loads subscriptions and history, because the rows show titles and statuses.
    subscriptionLoader.load().catch(() => {});
    loadAllEpisodes().catch(() => {});
  }, []);
  useEffect(load, []);
  // Loads new episodes after each change of the podcasts.
  useSignalEffect(() => {
    if (podcasts.value.size > 0) untracked(loadMore);
  });
  const items = useComputed(() =>
    newestEpisodes.value.filter(({ podcast_guid: guid }) => isShownPodcast(guid)),
  ).value;
  const isEmpty = items.length === 0;
  return (
    <Page title={t.title} lead={t.lead}>
      <section class="card list">
        {hasFailed.value && <LoadFailure onRetry={load} />}
        {!hasFeeds.value && <p class="empty">{t.noFeeds}</p>}
        {hasFeeds.value && isEmpty && !hasFailed.value && (
          <p class="empty" role="status">
            {isLoading.value ? texts.loading : t.none}
          </p>
        )}
        {!isEmpty && (
          <WindowedList
            label={podcastTexts.episodes}
            isTall
            items={items}
            keyOf={episodeKey}
            renderRow={(episode) => <NewRow episode={episode} />}
            onNearEnd={loadMore}
          />
        )}
      </section>
    </Page>
  );
}

/** Returns true for a subscribed podcast, and while subscriptions load for an unknown one. */
function isShownPodcast(guid: string): boolean {
  return subscriptionByGuid(guid)?.isSubscribed ?? !areAllSubscriptionsLoaded.value;
}

function NewRow({ episode }: { episode: ListedEpisode }) {
  const { podcast_guid: guid } = episode;
  const subscription = subscriptionByGuid(guid);
  const name = subscription ? podcastName(subscription) : (podcasts.value.get(guid)?.title ?? '');
  return (
    <EpisodeRow
      episode={episode}
      picture={<Picture guid={guid} name={name} />}
      podcast={
        <a href={`/console/podcast?guid=${guid}`}>
          <bdi>{name}</bdi>
        </a>
      }
      date={publishDateOf(episode)}
    />
  );
}
