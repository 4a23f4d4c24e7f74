import { useSignal } from '@preact/signals';
import { useCallback, useEffect } from 'preact/hooks';
import { changedAt, dateOfChange } from '../data/episode.rules.js';
import {
  type Episode,
  episodeLoader,
  episodes,
  isComplete,
  loadOlderEpisodes,
  total,
} from '../data/episodes.js';
import { podcastLoader, podcastName } from '../data/podcasts.js';
import { subscriptionByGuid, subscriptionLoader } from '../data/subscriptions.js';
import { texts } from '../texts/texts.js';
import { EpisodeRow } from '../ui/episode-row.js';
import { Failure, Page } from '../ui/page.js';
import { WindowedList } from '../ui/windowed-list.js';

const { history: t } = texts;

/** Renders the episodes with their states, the newest first. Scrolling loads more. */
export function History() {
  const hasFailed = useSignal(false);
  const load = useCallback(() => {
    hasFailed.value = false;
    episodeLoader.load().catch(() => (hasFailed.value = true));
    // The rows show the names of their podcasts.
    subscriptionLoader.load().catch(() => {});
    podcastLoader.load().catch(() => {});
  }, []);
  useEffect(load, []);
  const loadMore = useCallback(() => void loadOlderEpisodes().catch(() => {}), []);
  const items = episodes.value;
  const all = total.value;
  return (
    <Page title={t.title} lead={t.lead}>
      <section class="card list">
        <p class="quiet small count" role="status">
          {all === undefined
            ? hasFailed.value
              ? ''
              : texts.loading
            : t.count(isComplete.value ? items.length : all)}
        </p>
        {hasFailed.value && <Failure onRetry={load} />}
        {isComplete.value && items.length === 0 ? (
          <p class="empty">{t.none}</p>
        ) : (
          !hasFailed.value && (
            <WindowedList
              label={t.list}
              isTall
              items={items}
              expected={isComplete.value ? 0 : (all ?? 8)}
              keyOf={({ sync_id }) => sync_id}
              row={(episode) => <HistoryRow episode={episode} />}
              onEnd={loadMore}
            />
          )
        )}
        {isComplete.value && items.length > 0 && <p class="quiet small">{t.end}</p>}
      </section>
    </Page>
  );
}

function HistoryRow({ episode }: { episode: Episode }) {
  const podcast = subscriptionByGuid(episode.podcast_guid);
  return (
    <EpisodeRow
      episode={episode}
      podcast={podcast === undefined ? t.unknownFeed : <bdi>{podcastName(podcast)}</bdi>}
      date={dateOfChange(changedAt(episode))}
    />
  );
}
