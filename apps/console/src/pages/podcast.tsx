import { untracked, useComputed, useSignal, useSignalEffect } from '@preact/signals';
import { useLocation } from 'preact-iso';
import { useCallback, useEffect } from 'preact/hooks';
import { faultInHttpUrl, type Podcast as PublishedPodcast } from '#client';
import {
  compareDates,
  dateOfChange,
  episodeKey,
  episodesOfPodcast,
  lastChangeOf,
  type ListedEpisode,
  matchesStatusFilter,
  publishDateOf,
  type StatusFilter,
} from '../data/episode.rules.js';
import { historyOf, loadHistoryOf } from '../data/episodes.js';
import { episodesOfFeed, loadEpisodesOfFeed } from '../data/feed-episodes.js';
import { podcastLoader, podcastName, podcasts } from '../data/podcasts.js';
import {
  areAllSubscriptionsLoaded,
  currentGuid,
  type ListedSubscription,
  subscriptionByGuid,
  subscriptionLoader,
} from '../data/subscriptions.js';
import { texts } from '../texts/texts.js';
import { Choice } from '../ui/choice.js';
import { EpisodeRow } from '../ui/episode-row.js';
import { LoadFailure, Page } from '../ui/page.js';
import { Picture } from '../ui/picture.js';
import { WindowedList } from '../ui/windowed-list.js';
import { ManageDialog, manageId } from './manage.js';

const { podcast: t, subscriptions: listTexts, history: historyTexts } = texts;

/** Renders one podcast: its description, and its episodes with the listener's statuses. */
export function PodcastPage() {
  const { guid = '' } = useLocation().query;
  return <PodcastDetails key={guid} guid={guid} />;
}

/** @param urlGuid the guid in the URL. Another guid can replace it while the page is open. */
function PodcastDetails({ guid: urlGuid }: { guid: string }) {
  const guid = currentGuid(urlGuid);
  const hasFailed = useSignal(false);
  const showFailure = () => void (hasFailed.value = true);
  const load = useCallback(() => {
    hasFailed.value = false;
    for (const request of [subscriptionLoader.load(), podcastLoader.load(), loadHistoryOf(guid)])
      request.catch(showFailure);
  }, [guid]);
  useEffect(load, [load]);
  useSignalEffect(() => {
    const current = currentGuid(urlGuid);
    if (podcasts.value.has(current))
      void untracked(() => loadEpisodesOfFeed(current)).catch(showFailure);
  });
  const subscription = subscriptionByGuid(guid);
  if (!subscription)
    return (
      <Page
        title={
          areAllSubscriptionsLoaded.value ? texts.outcomes.unknown_subscription : texts.loading
        }
      >
        {hasFailed.value && <LoadFailure onRetry={load} />}
        <a href="/console/">{t.back}</a>
      </Page>
    );
  const podcast = podcasts.value.get(guid);
  return (
    <Page title={podcastName(subscription)} lead={podcast?.author}>
      <PodcastDescription subscription={subscription} podcast={podcast} />
      {hasFailed.value && <LoadFailure onRetry={load} />}
      <PodcastEpisodes guid={urlGuid} />
    </Page>
  );
}

interface PodcastDescriptionProps {
  readonly subscription: ListedSubscription;
  readonly podcast: PublishedPodcast | undefined;
}

function PodcastDescription({ subscription, podcast }: PodcastDescriptionProps) {
  const opening = useSignal<object | undefined>(undefined);
  const { guid, feedUrl } = subscription;
  const { status = 'ok', description, link } = podcast ?? {};
  return (
    <section class="card podcast">
      <Picture guid={guid} name={podcastName(subscription)} />
      <div class="stack">
        {description !== undefined && <p class="description">{description}</p>}
        {status !== 'ok' && <p class="quiet">{t.status[status]}</p>}
        <p class="quiet small">
          <bdi>{feedUrl}</bdi>
        </p>
        <p class="actions">
          <button class="plain slight" id={manageId(guid)} onClick={() => (opening.value = {})}>
            {listTexts.manage}
          </button>
          {link !== undefined && faultInHttpUrl(link) === undefined && (
            <a class="button plain slight" href={link} target="_blank" rel="noreferrer">
              {t.website}
            </a>
          )}
        </p>
      </div>
      {opening.value && (
        <ManageDialog
          subscription={subscription}
          opening={opening.value}
          onClose={() => (opening.value = undefined)}
        />
      )}
    </section>
  );
}

function PodcastEpisodes({ guid: urlGuid }: { guid: string }) {
  const statusFilter = useSignal<StatusFilter>('all');
  const sortOrder = useSignal<'date' | 'listened'>('date');
  const historyRows = useComputed(() => historyOf(currentGuid(urlGuid)));
  const allEpisodes = useComputed(() =>
    episodesOfPodcast(episodesOfFeed(currentGuid(urlGuid)) ?? [], historyRows.value ?? []),
  );
  const isLoaded = historyRows.value !== undefined;
  const items = useComputed(() =>
    selectEpisodes(allEpisodes.value, statusFilter.value, sortOrder.value),
  ).value;
  return (
    <section class="card list">
      <div class="tools">
        <Choice
          id="show"
          label={listTexts.show}
          options={{
            all: t.all,
            new: historyTexts.isNew,
            started: t.started,
            played: historyTexts.played,
          }}
          value={statusFilter.value}
          onChoice={(value) => (statusFilter.value = value)}
        />
        <Choice
          id="sort"
          label={listTexts.sort}
          options={{ date: t.byDate, listened: listTexts.byListened }}
          value={sortOrder.value}
          onChoice={(value) => (sortOrder.value = value)}
        />
      </div>
      <p class="quiet small count" role="status">
        {isLoaded ? historyTexts.count(items.length) : texts.loading}
      </p>
      {isLoaded && items.length === 0 && (
        <p class="empty">{allEpisodes.value.length === 0 ? t.none : t.noneFound}</p>
      )}
      <WindowedList
        label={t.episodes}
        isTall
        items={items}
        keyOf={episodeKey}
        renderRow={(episode) => (
          <EpisodeRow
            episode={episode}
            date={
              sortOrder.value === 'date'
                ? publishDateOf(episode)
                : dateOfChange(lastChangeOf(episode))
            }
          />
        )}
      />
    </section>
  );
}

/** Returns the matching episodes in order. `listened` omits episodes without listening statuses. */
function selectEpisodes(
  all: readonly ListedEpisode[],
  shown: StatusFilter,
  order: 'date' | 'listened',
): readonly ListedEpisode[] {
  const matching = all.filter((episode) => matchesStatusFilter(episode, shown));
  if (order === 'date')
    return matching.sort((one, other) => compareDates(other.publish_date, one.publish_date));
  return matching
    .filter((episode) => lastChangeOf(episode) !== '')
    .sort((one, other) => compareDates(lastChangeOf(other), lastChangeOf(one)));
}
