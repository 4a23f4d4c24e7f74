import { signal } from '@preact/signals';
import { ApiError, type Podcast } from '#client';
import { locale } from '../texts/texts.js';
import { feedHost, searchKey } from '../ui/feed-name.js';
import { ChangeLoader } from './change-loader.js';
import { retryUntilAnswered } from './network.js';
import { apiOfUser } from './session.js';
import type { ListedSubscription } from './subscriptions.js';

const perPage = 100;
/**
 * The delay between polls in milliseconds. Polls are needed, because no notification reports a
 * changed feed. Each poll multiplies the delay by `factor`. After a change of a podcast's status or
 * picture, the delay is `first` again, because podcasts that were added together change together.
 */
const pollDelay = { first: 2_000, factor: 1.5, max: 5 * 60_000 };

/** The subscribed podcasts as their publishers describe them, by guid. */
export const podcasts = signal<ReadonlyMap<string, Podcast>>(new Map());
/** False if the server fetches no feeds. Podcasts then have no titles but the listener's own. */
export const hasFeeds = signal(true);

/** Returns a podcast's title: the listener's, else the publisher's, else a name from its URL. */
export function podcastName(
  { guid, title, feedUrl }: ListedSubscription,
  nameOfUrl: (feedUrl: string) => string = feedHost,
): string {
  return title || podcasts.value.get(guid)?.title || nameOfUrl(feedUrl);
}

const collator = new Intl.Collator(locale, { sensitivity: 'base', numeric: true });

/** Compares subscriptions by {@link podcastName}, in the order of the user's language. */
export function compareNames(one: ListedSubscription, other: ListedSubscription): number {
  return collator.compare(podcastName(one), podcastName(other));
}

/**
 * Returns a function that is true for subscriptions whose titles, author or feed URL contain the
 * text. Texts are compared by {@link searchKey}.
 */
export function podcastMatcher(text: string): (subscription: ListedSubscription) => boolean {
  const key = searchKey(text.trim());
  return ({ guid, title, feedUrl }) => {
    const podcast = podcasts.value.get(guid);
    const searchedTexts = [title, podcast?.title, podcast?.author, feedUrl];
    return key === '' || searchKey(searchedTexts.join('\n')).includes(key);
  };
}

let currentPollDelay = pollDelay.first;
let pollTimer: ReturnType<typeof setTimeout> | undefined;

/** Loads the subscribed podcasts, then polls for their changes. */
export const podcastLoader = new ChangeLoader(async (since) => {
  if (!hasFeeds.value) return '';
  const api = await apiOfUser();
  const readPages = async () => {
    let stamp = since ?? '';
    for await (const page of api.feeds({ since, perPage })) {
      putPodcasts(page.feeds);
      stamp = page.syncTimestamp;
    }
    return stamp;
  };
  try {
    return await (since === undefined ? retryUntilAnswered(readPages) : readPages());
  } catch (error) {
    if (!(error instanceof ApiError && error.code === 'not_found')) throw error;
    hasFeeds.value = false;
    return '';
  } finally {
    if (hasFeeds.value) schedulePoll();
  }
});

function schedulePoll(): void {
  clearTimeout(pollTimer);
  pollTimer = setTimeout(() => void podcastLoader.notify(), currentPollDelay);
  currentPollDelay = Math.min(currentPollDelay * pollDelay.factor, pollDelay.max);
}

function putPodcasts(rows: readonly Podcast[]): void {
  if (rows.length === 0) return;
  const podcastsByGuid = new Map(podcasts.value);
  for (const row of rows) {
    const earlier = podcastsByGuid.get(row.guid);
    const isPending = row.status === 'pending';
    if (earlier?.status !== row.status || earlier.artwork !== row.artwork)
      currentPollDelay = pollDelay.first;
    // Keeps the earlier title. After a change of its subscription, a feed is pending for seconds
    // and has no title.
    podcastsByGuid.set(
      row.guid,
      isPending && earlier?.feed_url === row.feed_url ? { ...earlier, ...row } : row,
    );
  }
  podcasts.value = podcastsByGuid;
}
