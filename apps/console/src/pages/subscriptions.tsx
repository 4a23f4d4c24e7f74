import { type Signal, signal, useComputed, useSignal } from '@preact/signals';
import { useCallback, useEffect } from 'preact/hooks';
import { Field, Row } from '#ui';
import { compareDates } from '../data/episode.rules.js';
import { areAllEpisodesLoaded, changesByPodcast, loadAllEpisodes } from '../data/episodes.js';
import { isOnline } from '../data/network.js';
import {
  compareNames,
  hasFeeds,
  podcastLoader,
  podcastMatcher,
  podcastName,
  podcasts,
} from '../data/podcasts.js';
import {
  areAllSubscriptionsLoaded,
  type ListedSubscription,
  pendingChangeOf,
  pendingSubscriptionChanges,
  subscriptionByGuid,
  subscriptionLoader,
  subscriptions,
  totalSubscriptions,
} from '../data/subscriptions.js';
import { texts } from '../texts/texts.js';
import { AddForm } from './add-form.js';
import { Choice } from '../ui/choice.js';
import { feedName } from '../ui/feed-name.js';
import { showNotice } from '../ui/notice.js';
import { LoadFailure, Page } from '../ui/page.js';
import { Picture } from '../ui/picture.js';
import { WindowedList } from '../ui/windowed-list.js';
import { ManageDialog, manageId } from './manage.js';

const { subscriptions: t } = texts;

// Search and order of the list, kept while other pages are open.
const searchText = signal('');
const sortOrder = signal<SortOrder>('time');

type SortOrder = 'time' | 'title' | 'newest' | 'listened';

/** Renders the subscriptions, with search and the form that adds one. */
export function SubscriptionsPage() {
  const showsSubscribed = useSignal(true);
  // Subscription of the open dialog. Each opening sets a new object, also for the same guid.
  const openedSubscription = useSignal<{ guid: string } | undefined>(undefined);
  const hasFailed = useSignal(false);
  const shownSubscriptions = useComputed(() =>
    sortSubscriptions(findSubscriptions(searchText.value, showsSubscribed.value), sortOrder.value),
  );
  const load = useCallback(() => {
    hasFailed.value = false;
    subscriptionLoader.load().catch(() => (hasFailed.value = true));
    podcastLoader.load().catch(() => {});
  }, []);
  useEffect(load, []);

  const isWholeList = searchText.value.trim() === '' && showsSubscribed.value;
  const opening = openedSubscription.value;
  const current = opening && subscriptionByGuid(opening.guid);
  return (
    <Page title={t.title} lead={t.lead}>
      <AddForm />
      <section class="card list">
        <SubscriptionTools showsSubscribed={showsSubscribed} />
        <p class="quiet small count" role="status">
          {!hasFailed.value && formatCount(shownSubscriptions.value.length)}
        </p>
        <PendingAdditions />
        {hasFailed.value && <LoadFailure onRetry={load} />}
        {areAllSubscriptionsLoaded.value && shownSubscriptions.value.length === 0 ? (
          <NoSubscriptions isWholeList={isWholeList} isSearch={searchText.value.trim() !== ''} />
        ) : (
          !hasFailed.value && (
            <WindowedList
              label={t.list}
              items={shownSubscriptions.value}
              expectedCount={isWholeList ? countExpectedRows() : 0}
              keyOf={({ guid }) => guid}
              renderRow={(subscription) => (
                <SubscriptionRow
                  subscription={subscription}
                  onManage={() => (openedSubscription.value = { guid: subscription.guid })}
                />
              )}
            />
          )
        )}
      </section>
      {current && (
        <ManageDialog
          key={opening.guid}
          subscription={current}
          opening={opening}
          onClose={() =>
            openedSubscription.value === opening && (openedSubscription.value = undefined)
          }
        />
      )}
    </Page>
  );
}

/** Returns the expected number of rows while subscriptions are loading, else 0. */
function countExpectedRows(): number {
  return areAllSubscriptionsLoaded.value ? 0 : (totalSubscriptions.value ?? 8);
}

/** Returns the subscriptions that match the search text and have this `isSubscribed`. */
function findSubscriptions(text: string, isSubscribed: boolean): readonly ListedSubscription[] {
  const matches = podcastMatcher(text);
  return subscriptions.value.filter(
    (subscription) => subscription.isSubscribed === isSubscribed && matches(subscription),
  );
}

function sortSubscriptions(
  rows: readonly ListedSubscription[],
  order: SortOrder,
): readonly ListedSubscription[] {
  if (order === 'time') return rows;
  if (order === 'title') return rows.toSorted(compareNames);
  const getDate = ({ guid }: ListedSubscription) =>
    order === 'newest'
      ? podcasts.value.get(guid)?.latest_publish_date
      : changesByPodcast.value.get(guid);
  return rows.toSorted((one, other) => compareDates(getDate(other), getDate(one)));
}

function NoSubscriptions({ isWholeList, isSearch }: { isWholeList: boolean; isSearch: boolean }) {
  return (
    <p class="empty">
      {isWholeList ? t.none : isSearch ? t.noneFound : t.noneUnsubscribed}{' '}
      {isWholeList && <a href="/console/data">{t.importLink}</a>}
    </p>
  );
}

function formatCount(shownCount: number): string {
  if (sortOrder.value === 'listened' && !areAllEpisodesLoaded.value) return texts.loading;
  if (areAllSubscriptionsLoaded.value) return t.count(shownCount);
  return totalSubscriptions.value === undefined
    ? texts.loading
    : t.progress(subscriptions.value.length, totalSubscriptions.value);
}

function SubscriptionTools({ showsSubscribed }: { showsSubscribed: Signal<boolean> }) {
  // The order by listening needs the times of all episodes of the history.
  const changeOrder = (order: SortOrder) => {
    sortOrder.value = order;
    if (order === 'listened') loadAllEpisodes().catch(() => showNotice(texts.failed, true));
  };
  return (
    <div class="tools" role="search">
      <Field
        id="search"
        label={t.search}
        type="search"
        autocomplete="off"
        value={searchText.value}
        onInput={({ currentTarget }) => (searchText.value = currentTarget.value)}
      />
      <Choice
        id="show"
        label={t.show}
        options={{ subscribed: t.subscribed, unsubscribed: t.unsubscribed }}
        value={showsSubscribed.value ? 'subscribed' : 'unsubscribed'}
        onChoice={(value) => (showsSubscribed.value = value === 'subscribed')}
      />
      <Choice
        id="sort"
        label={t.sort}
        options={{
          time: t.byTime,
          title: t.byTitle,
          ...(hasFeeds.value && { newest: t.byNewest }),
          listened: t.byListened,
        }}
        value={sortOrder.value}
        onChoice={changeOrder}
      />
    </div>
  );
}

function SubscriptionRow({
  subscription,
  onManage,
}: {
  subscription: ListedSubscription;
  onManage: () => void;
}) {
  const { guid, feedUrl } = subscription;
  const change = pendingChangeOf(subscription);
  const name = podcastName(subscription);
  return (
    <Row
      name={name}
      href={`/console/podcast?guid=${guid}`}
      picture={<Picture guid={guid} name={name} />}
      tag={change && <span class="tag">{formatPending(change.kind)}</span>}
      lines={[podcasts.value.get(guid)?.author ?? feedUrl]}
    >
      <button
        class="plain slight"
        id={manageId(guid)}
        aria-label={t.manageNamed(podcastName(subscription, feedName).slice(0, 200))}
        onClick={onManage}
      >
        {t.manage}
      </button>
    </Row>
  );
}

function formatPending(kind: keyof typeof t.pending): string {
  return isOnline.value ? t.pending[kind] : t.waiting;
}

function PendingAdditions() {
  const pendingAdditions = pendingSubscriptionChanges.value.filter(({ kind }) => kind === 'add');
  if (pendingAdditions.length === 0) return null;
  return (
    <ul class="waiting" role="list">
      {pendingAdditions.slice(0, 20).map(({ feedUrl }, index) => (
        <li key={index} class="cut">
          <bdi>{feedUrl}</bdi> <span class="tag">{formatPending('add')}</span>
        </li>
      ))}
    </ul>
  );
}
