import { useComputed, useSignal } from '@preact/signals';
import { useLocation } from 'preact-iso';
import { useCallback, useEffect } from 'preact/hooks';
import { Field } from '#ui';
import {
  filterOfQuery,
  type HistoryFilter,
  historyMatcher,
  pathOfFilter,
} from '../data/episode.rules.js';
import {
  areAllEpisodesLoaded,
  episodeLoader,
  episodes,
  loadAllEpisodes,
  loadOlderEpisodes,
  totalEpisodes,
} from '../data/episodes.js';
import { podcastLoader } from '../data/podcasts.js';
import { currentGuid, subscriptionLoader } from '../data/subscriptions.js';
import { texts } from '../texts/texts.js';
import { Choice } from '../ui/choice.js';
import { LoadFailure, Page } from '../ui/page.js';
import { PodcastField } from '../ui/podcast-field.js';
import { WindowedList } from '../ui/windowed-list.js';
import { HistoryRow } from './history-row.js';

const { history: t, podcast: podcastTexts, subscriptions: listTexts } = texts;

const unfilteredPath = pathOfFilter(filterOfQuery({}));

/**
 * Renders the episodes that match the filter in the URL, the most recently changed first. Without a
 * filter, scrolling loads further episodes. With a filter, the page loads all episodes.
 */
export function HistoryPage() {
  const { query, route } = useLocation();
  const filter = filterOfQuery(query);
  const path = pathOfFilter(filter);
  const isFiltered = path !== unfilteredPath;
  const hasFailed = useSignal(false);
  const load = useCallback(() => {
    hasFailed.value = false;
    (isFiltered ? loadAllEpisodes() : episodeLoader.load()).catch(() => (hasFailed.value = true));
    // Loads subscriptions and podcasts, because the rows show the names of podcasts.
    subscriptionLoader.load().catch(() => {});
    podcastLoader.load().catch(() => {});
  }, [isFiltered]);
  useEffect(load, [load]);
  return (
    <Page title={t.title} lead={t.lead}>
      <section class="card list">
        <HistoryTools
          filter={filter}
          onFilter={(changed, replace) => route(pathOfFilter({ ...filter, ...changed }), replace)}
        />
        {hasFailed.value ? (
          <LoadFailure onRetry={load} />
        ) : (
          <HistoryEpisodes key={path} filter={filter} isFiltered={isFiltered} />
        )}
      </section>
    </Page>
  );
}

interface HistoryToolsProps {
  readonly filter: HistoryFilter;
  /** Navigates to the URL of the changed filter. @param replace true to add no entry for "Back". */
  onFilter(changed: Partial<HistoryFilter>, replace?: boolean): void;
}

function HistoryTools({ filter, onFilter }: HistoryToolsProps) {
  return (
    <div class="tools" role="search">
      <Field
        id="search"
        label={listTexts.search}
        type="search"
        autocomplete="off"
        value={filter.search}
        // Typing adds one history entry, so that "Back" removes the whole search.
        onInput={({ currentTarget: { value } }) =>
          onFilter({ search: value }, filter.search !== '')
        }
      />
      <Choice
        id="show"
        label={listTexts.show}
        options={{
          all: podcastTexts.all,
          started: podcastTexts.started,
          played: t.played,
          favorite: t.favorites,
        }}
        value={filter.show}
        onChoice={(show) => onFilter({ show })}
      />
      <PodcastField
        id="podcast"
        label={t.podcast}
        value={filter.podcast}
        onChoice={(podcast) => onFilter({ podcast })}
      />
    </div>
  );
}

function HistoryEpisodes({ filter, isFiltered }: { filter: HistoryFilter; isFiltered: boolean }) {
  // Rows that a change excludes from the filter stay until the filter changes. Otherwise another
  // row would move to their place and get the focus or a click.
  const changedIds = useSignal<ReadonlySet<string>>(new Set());
  const items = useComputed(() => {
    const matches = historyMatcher({ ...filter, podcast: currentGuid(filter.podcast) });
    return episodes.value.filter(
      (episode) => changedIds.value.has(episode.sync_id) || matches(episode),
    );
  }).value;
  const loadMore = useCallback(() => void loadOlderEpisodes().catch(() => {}), []);
  // Includes the episodes that are not loaded, although the list omits episodes that were only
  // downloaded.
  const estimatedCount =
    totalEpisodes.value && totalEpisodes.value - (episodes.value.length - items.length);
  const expectedCount = areAllEpisodesLoaded.value || isFiltered ? 0 : (estimatedCount ?? 8);
  const isEmpty = areAllEpisodesLoaded.value && items.length === 0;
  return (
    <>
      <p class="quiet small count" role="status">
        {areAllEpisodesLoaded.value
          ? t.count(items.length)
          : isFiltered || estimatedCount === undefined
            ? texts.loading
            : t.count(estimatedCount)}
      </p>
      {isEmpty ? (
        <p class="empty">{isFiltered ? podcastTexts.noneFound : t.none}</p>
      ) : (
        <WindowedList
          label={t.list}
          isTall
          items={items}
          expectedCount={expectedCount}
          keyOf={({ sync_id }) => sync_id}
          renderRow={(episode) => (
            <HistoryRow
              episode={episode}
              onBeforeChange={() =>
                (changedIds.value = new Set(changedIds.value).add(episode.sync_id))
              }
            />
          )}
          onNearEnd={loadMore}
        />
      )}
      {areAllEpisodesLoaded.value && !isEmpty && <p class="quiet small">{t.end}</p>}
    </>
  );
}
