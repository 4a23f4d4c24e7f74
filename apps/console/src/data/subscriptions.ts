import { computed, signal } from '@preact/signals';
import { type Api, ApiError, type EntryFailureCode, type Subscription } from '#client';
import { ChangeLoader } from './change-loader.js';
import { retryUntilAnswered } from './network.js';
import { podcastLoader } from './podcasts.js';
import { apiOfUser } from './session.js';

/** A subscription in the list, with its current guid. */
export interface ListedSubscription {
  readonly guid: string;
  readonly feedUrl: string;
  readonly isSubscribed: boolean;
  /** The listener's own title; empty without one. */
  readonly title: string;
}

/** A change of a subscription that has no response yet. */
export interface PendingSubscriptionChange {
  readonly kind: 'add' | 'subscribe' | 'unsubscribe' | 'rename' | 'move' | 'delete';
  /** Guid of the subscription; absent for a new one. */
  readonly guid?: string;
  readonly feedUrl: string;
}

/** The result of a change of a subscription or episode. */
export type ChangeOutcome = 'done' | EntryFailureCode | 'failed';

/** Numbers of subscriptions per page. The first page is small, so that it appears fast. */
const pageSizes = { first: 50, others: 250 };
/** Interval in milliseconds at which the status of a deletion is read. */
const deletionPollInterval = 700;

/** Subscriptions of the loaded pages, in the order of their creation. */
const loadedSubscriptions = new Map<string, ListedSubscription>();
/** Subscriptions that were added while the console was open, the newest last. */
const addedSubscriptions = new Map<string, ListedSubscription>();
/** Increases with each change of the two maps, so that computed signals run again. */
const listVersion = signal(0);
/**
 * Maps each guid that was replaced while the console was open to its replacement. A current guid is
 * never a key, so that each chain of guids ends.
 */
const nextGuids = signal<ReadonlyMap<string, string>>(new Map());

/** All subscriptions except deleted ones: first the newly added, then the others by creation. */
export const subscriptions = computed((): readonly ListedSubscription[] => {
  void listVersion.value;
  return [...[...addedSubscriptions.values()].reverse(), ...loadedSubscriptions.values()];
});
/** Number of subscriptions on the server with deleted ones; undefined before the response. */
export const totalSubscriptions = signal<number>();
export const areAllSubscriptionsLoaded = signal(false);
/** Changes of subscriptions that have no response yet, the newest first. */
export const pendingSubscriptionChanges = signal<readonly PendingSubscriptionChange[]>([]);

/** Returns the current guid of a subscription, given its current or a former guid. */
export function currentGuid(guid: string): string {
  let current = guid;
  for (let next; (next = nextGuids.value.get(current)) !== undefined;) current = next;
  return current;
}

/** Returns a subscription by its current guid, or by a guid replaced while the console was open. */
export function subscriptionByGuid(guid: string): ListedSubscription | undefined {
  void listVersion.value;
  const current = currentGuid(guid);
  return addedSubscriptions.get(current) ?? loadedSubscriptions.get(current);
}

/** Returns the last change of a subscription that has no response yet, if there is one. */
export function pendingChangeOf(
  subscription: ListedSubscription,
): PendingSubscriptionChange | undefined {
  return pendingSubscriptionChanges.value.find(
    ({ guid }) => guid !== undefined && currentGuid(guid) === subscription.guid,
  );
}

/** Loads all subscriptions first, and afterwards only the changes after `since`. */
export const subscriptionLoader = new ChangeLoader(async (since) => {
  const api = await apiOfUser();
  if (since !== undefined) {
    let stamp = since;
    for await (const page of api.subscriptions({ since, perPage: pageSizes.others })) {
      storeRows(page.subscriptions, addedSubscriptions);
      if (page.subscriptions.length > 0) void podcastLoader.notify();
      stamp = page.syncTimestamp;
    }
    return stamp;
  }
  let page = await retryUntilAnswered(() => api.listSubscriptions({ perPage: pageSizes.first }));
  const { syncTimestamp } = page;
  for (;;) {
    totalSubscriptions.value = page.total;
    storeRows(page.subscriptions, loadedSubscriptions);
    const { next } = page;
    if (next === undefined) break;
    // Replaces the small page size of the first page in the link.
    const link = next.replace(/\bper_page=\d+/, `per_page=${pageSizes.others}`);
    page = await retryUntilAnswered(() => api.listSubscriptions({ link }));
  }
  areAllSubscriptionsLoaded.value = true;
  return syncTimestamp;
});

/** Stores rows of the API. Their order does not matter, because each has the current state. */
function storeRows(
  rows: readonly Subscription[],
  targetMap: Map<string, ListedSubscription>,
): void {
  for (const {
    guid,
    new_guid,
    feed_url: feedUrl,
    is_subscribed: isSubscribed,
    title = '',
    deleted,
  } of rows) {
    const key = new_guid ?? guid;
    replaceGuid(guid, key);
    if (key !== guid) removeRow(guid);
    if (deleted) removeRow(key);
    else putRow({ guid: key, feedUrl, isSubscribed, title }, targetMap);
  }
  listVersion.value++;
}

/** Stores the replacement of a former guid. If both are equal, removes the replacement instead. */
function replaceGuid(former: string, guid: string): void {
  if (former === guid && !nextGuids.value.has(guid)) return;
  const map = new Map(nextGuids.value);
  map.delete(guid);
  if (former !== guid) map.set(former, guid);
  nextGuids.value = map;
}

function putRow(row: ListedSubscription, targetMap: Map<string, ListedSubscription>): void {
  const map = loadedSubscriptions.has(row.guid)
    ? loadedSubscriptions
    : addedSubscriptions.has(row.guid)
      ? addedSubscriptions
      : targetMap;
  map.set(row.guid, row);
}

function removeRow(guid: string): void {
  loadedSubscriptions.delete(guid);
  addedSubscriptions.delete(guid);
}

/** Subscribes to a feed. @param feedUrl as the user typed it. */
export function addSubscription(feedUrl: string): Promise<ChangeOutcome> {
  return trackChange({ kind: 'add', feedUrl }, async (api, timestamp) =>
    subscribe(api, feedUrl, {}, timestamp),
  );
}

/** Changes `is_subscribed` of a subscription: subscribes again, or unsubscribes. */
export function setSubscribed(
  { guid, feedUrl, title }: ListedSubscription,
  isSubscribed: boolean,
): Promise<ChangeOutcome> {
  const kind = isSubscribed ? 'subscribe' : 'unsubscribe';
  return trackChange({ kind, guid, feedUrl }, async (api, timestamp) => {
    if (isSubscribed) return subscribe(api, feedUrl, { guid, title }, timestamp);
    const { is_subscribed = false } = await api.updateSubscription(guid, {
      is_subscribed: false,
      ...timestamp,
    });
    // Stores the state of the response, because a later change of another client wins.
    storeRows(
      [{ guid: currentGuid(guid), feed_url: feedUrl, is_subscribed, title }],
      addedSubscriptions,
    );
    return is_subscribed ? 'superseded' : 'done';
  });
}

/** Sets the listener's title. @param newTitle empty to remove the title. */
export function changeTitle(
  { guid, feedUrl }: ListedSubscription,
  newTitle: string,
): Promise<ChangeOutcome> {
  return trackChange({ kind: 'rename', guid, feedUrl }, async (api, timestamp) => {
    const { title = newTitle } = await api.updateSubscription(guid, {
      title: newTitle,
      ...timestamp,
    });
    const row = subscriptionByGuid(guid);
    if (row) putRow({ ...row, title }, addedSubscriptions);
    listVersion.value++;
    return 'done';
  });
}

/**
 * Changes the feed URL of a subscription. Sends no timestamp, because a timestamp orders only
 * `is_subscribed` and `title`. Of several feed URLs, the last to arrive wins.
 */
export function changeFeedUrl(
  { guid, isSubscribed, title }: ListedSubscription,
  newUrl: string,
): Promise<ChangeOutcome> {
  return trackChange({ kind: 'move', guid, feedUrl: newUrl }, async (api) => {
    await api.updateSubscription(guid, { new_feed_url: newUrl });
    storeRows(
      [{ guid: currentGuid(guid), feed_url: newUrl, is_subscribed: isSubscribed, title }],
      addedSubscriptions,
    );
    return 'done';
  });
}

/** Deletes a subscription with all its episodes, and waits for the end of the deletion. */
export function deleteSubscription({ guid, feedUrl }: ListedSubscription): Promise<ChangeOutcome> {
  return trackChange({ kind: 'delete', guid, feedUrl }, async (api, timestamp) => {
    const { deletion_id: id } = await api.deleteSubscription(guid, timestamp);
    for (;;) {
      const { status } = await retryUntilAnswered(() => api.getDeletion(id));
      if (status === 'FAILURE') return 'superseded';
      if (status === 'SUCCESS') break;
      await new Promise((resolve) => setTimeout(resolve, deletionPollInterval));
    }
    removeRow(currentGuid(guid));
    listVersion.value++;
    return 'done';
  });
}

async function subscribe(
  api: Api,
  feedUrl: string,
  { guid, title }: Partial<ListedSubscription>,
  timestamp: object,
): Promise<ChangeOutcome> {
  const entry = { feed_url: feedUrl, ...(guid !== undefined && { guid }), ...timestamp };
  const { success, failure } = await api.addSubscriptions([entry]);
  if (failure[0]) return failure[0].code;
  // Adds the title, which the response does not contain.
  storeRows(
    success.map((row) => ({ ...row, title: title ?? subscriptionByGuid(row.guid)?.title ?? '' })),
    addedSubscriptions,
  );
  return 'done';
}

/**
 * Sends a change, and keeps it in {@link pendingSubscriptionChanges} until the response.
 *
 * @returns the result of `request`, or `failed` after an error. If the subscription no longer
 *   exists, `done` for a deletion and `unknown_subscription` for any other change.
 */
async function trackChange(
  change: PendingSubscriptionChange,
  request: (api: Api, timestamp: { timestamp: string }) => Promise<ChangeOutcome>,
): Promise<ChangeOutcome> {
  const now = Date.now();
  const displayedUntil = Date.parse(subscriptionLoader.loadedUntil ?? '1970-01-01');
  pendingSubscriptionChanges.value = [change, ...pendingSubscriptionChanges.value];
  try {
    const api = await retryUntilAnswered(apiOfUser);
    return await retryUntilAnswered(() => {
      // Uses the time of the user's action, so that a late request does not undo later changes. The
      // time is also later than the displayed state.
      const time = new Date(Math.max(now + api.clockOffset, displayedUntil + 1));
      return request(api, { timestamp: time.toISOString() });
    });
  } catch (error) {
    const code = error instanceof ApiError ? error.code : undefined;
    if (change.guid === undefined || (code !== 'not_found' && code !== 'deleted')) return 'failed';
    // Another client has already deleted the subscription.
    removeRow(currentGuid(change.guid));
    listVersion.value++;
    return change.kind === 'delete' ? 'done' : 'unknown_subscription';
  } finally {
    void podcastLoader.notify();
    pendingSubscriptionChanges.value = pendingSubscriptionChanges.value.filter(
      (other) => other !== change,
    );
  }
}
