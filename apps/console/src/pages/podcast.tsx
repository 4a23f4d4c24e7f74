import { untracked, useComputed, useSignal, useSignalEffect } from '@preact/signals';
import { useLocation } from 'preact-iso';
import { useCallback, useEffect } from 'preact/hooks';
import { faultInHttpUrl, type Podcast as Described } from '#client';
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

const { podcast: t, subscriptions: list, history } = texts;

/** Renders one podcast: its description, and its episodes with the listener's statuses. */
export function PodcastPage() {
  const { guid = '' } = useLocation().query;
  return <PodcastDetails key={guid} guid={guid} />;
}

/** @param asked the guid in the URL, which can change while the page is open. */
function PodcastDetails({ guid: asked }: { guid: string }) {
  const guid = currentGuid(asked);
  const hasFailed = useSignal(false);
  const fail = () => void (hasFailed.value = true);
  const load = useCallback(() => {
    hasFailed.value = false;
    for (const loaded of [subscriptionLoader.load(), podcastLoader.load(), loadHistoryOf(guid)])
      loaded.catch(fail);
  }, [guid]);
  useEffect(load, [load]);
  useSignalEffect(() => {
    const current = currentGuid(asked);
    if (podcasts.value.has(current)) void untracked(() => loadEpisodesOfFeed(current)).catch(fail);
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
      <PodcastEpisodes guid={asked} />
    </Page>
  );
}

interface PodcastDescriptionProps {
  readonly subscription: ListedSubscription;
  readonly podcast: Described | undefined;
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
            {list.manage}
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

function PodcastEpisodes({ guid: asked }: { guid: string }) {
  const shows = useSignal<StatusFilter>('all');
  const order = useSignal<'date' | 'listened'>('date');
  const rows = useComputed(() => historyOf(currentGuid(asked)));
  const all = useComputed(() =>
    episodesOfPodcast(episodesOfFeed(currentGuid(asked)) ?? [], rows.value ?? []),
  );
  const isLoaded = rows.value !== undefined;
  const items = useComputed(() => selectEpisodes(all.value, shows.value, order.value)).value;
  return (
    <section class="card list">
      <div class="tools">
        <Choice
          id="show"
          label={list.show}
          options={{
            all: t.all,
            new: history.isNew,
            started: t.started,
            played: history.played,
          }}
          value={shows.value}
          onChoice={(value) => (shows.value = value)}
        />
        <Choice
          id="sort"
          label={list.sort}
          options={{ date: t.byDate, listened: list.byListened }}
          value={order.value}
          onChoice={(value) => (order.value = value)}
        />
      </div>
      <p class="quiet small count" role="status">
        {isLoaded ? history.count(items.length) : texts.loading}
      </p>
      {isLoaded && items.length === 0 && (
        <p class="empty">{all.value.length === 0 ? t.none : t.noneFound}</p>
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
              order.value === 'date' ? publishDateOf(episode) : dateOfChange(lastChangeOf(episode))
            }
          />
        )}
      />
    </section>
  );
}

/** Returns the matching episodes in order. By `listened`, episodes without a status are omitted. */
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
