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
 * The delay between polls in milliseconds, as no notification reports a changed feed. It grows by
 * `factor` with each poll, and starts again when the status or the picture of a podcast changes:
 * others that were added with it follow within seconds.
 */
const pollDelay = { first: 2_000, factor: 1.5, max: 5 * 60_000 };

/** The subscribed podcasts as their publishers describe them, by guid. */
export const podcasts = signal<ReadonlyMap<string, Podcast>>(new Map());
/** False if the server fetches no feeds. Podcasts then have only titles that the listener set. */
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
 * Returns a function that is true for subscriptions with a text in their titles, author or feed
 * URL. It compares by {@link searchKey}.
 */
export function podcastMatcher(text: string): (subscription: ListedSubscription) => boolean {
  const key = searchKey(text.trim());
  return ({ guid, title, feedUrl }) => {
    const podcast = podcasts.value.get(guid);
    const texts = [title, podcast?.title, podcast?.author, feedUrl];
    return key === '' || searchKey(texts.join('\n')).includes(key);
  };
}

let currentPollDelay = pollDelay.first;
let timer: ReturnType<typeof setTimeout> | undefined;

/** Loads the subscribed podcasts, then polls for their changes. */
export const podcastLoader = new ChangeLoader(async (since) => {
  if (!hasFeeds.value) return '';
  const api = await apiOfUser();
  const read = async () => {
    let stamp = since ?? '';
    for await (const page of api.feeds({ since, perPage })) {
      putPodcasts(page.feeds);
      stamp = page.syncTimestamp;
    }
    return stamp;
  };
  try {
    return await (since === undefined ? retryUntilAnswered(read) : read());
  } catch (error) {
    if (!(error instanceof ApiError && error.code === 'not_found')) throw error;
    hasFeeds.value = false;
    return '';
  } finally {
    if (hasFeeds.value) pollLater();
  }
});

function pollLater(): void {
  clearTimeout(timer);
  timer = setTimeout(() => void podcastLoader.notify(), currentPollDelay);
  currentPollDelay = Math.min(currentPollDelay * pollDelay.factor, pollDelay.max);
}

function putPodcasts(rows: readonly Podcast[]): void {
  if (rows.length === 0) return;
  const map = new Map(podcasts.value);
  for (const row of rows) {
    const before = map.get(row.guid);
    const isPending = row.status === 'pending';
    if (before?.status !== row.status || before.artwork !== row.artwork)
      currentPollDelay = pollDelay.first;
    // A feed is pending, without its title, for seconds after any change of its subscription.
    map.set(row.guid, isPending && before?.feed_url === row.feed_url ? { ...before, ...row } : row);
  }
  podcasts.value = map;
}
