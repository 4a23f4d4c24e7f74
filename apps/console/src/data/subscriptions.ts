import { computed, signal } from '@preact/signals';
import { type Api, ApiError, type EntryFailureCode, type Subscription } from '#client';
import { ChangeLoader } from './change.loader.js';
import { retryUntilAnswered } from './network.js';
import { podcastLoader } from './podcasts.js';
import { connect } from './session.js';

/** A subscription in the list, with its current guid. */
export interface ListedSubscription {
  readonly guid: string;
  readonly feedUrl: string;
  readonly isSubscribed: boolean;
  /** The listener's own title; empty without one. */
  readonly title: string;
}

/** A change that waits for its response. */
export interface PendingChange {
  readonly kind: 'add' | 'subscribe' | 'unsubscribe' | 'rename' | 'move' | 'delete';
  /** Absent for a new subscription. */
  readonly guid?: string;
  readonly feedUrl: string;
}

/** The result of a change. */
export type Outcome = 'done' | EntryFailureCode | 'failed';

/** Page sizes. The first page is small for a fast first view. */
const perPage = { first: 50, others: 250 };
/** Interval in milliseconds at which the status of a deletion is read. */
const deletionPollInterval = 700;

/** Subscriptions of the loaded pages, by creation. */
const loaded = new Map<string, ListedSubscription>();
/** Subscriptions that appeared while the page was open, the newest last. */
const added = new Map<string, ListedSubscription>();
/** Increases with each change of the maps. */
const version = signal(0);

/** All subscriptions except deleted ones: the new ones, then the others by creation. */
export const subscriptions = computed((): readonly ListedSubscription[] => {
  void version.value;
  return [...[...added.values()].reverse(), ...loaded.values()];
});
/** Number of subscriptions on the server, including deleted ones; undefined before a response. */
export const total = signal<number>();
/** True after all subscriptions are loaded. */
export const isComplete = signal(false);
/** Changes that wait for their responses, the newest first. */
export const pending = signal<readonly PendingChange[]>([]);

/** Returns a subscription by its current guid. */
export function subscriptionByGuid(guid: string): ListedSubscription | undefined {
  void version.value;
  return added.get(guid) ?? loaded.get(guid);
}

/** Loads all subscriptions in the first run, and only the changes after `since` in later runs. */
export const subscriptionLoader = new ChangeLoader(async (since) => {
  const api = await connect();
  if (since !== undefined) {
    let stamp = since;
    for await (const page of api.subscriptions({ since, perPage: perPage.others })) {
      applyRows(page.subscriptions, added);
      if (page.subscriptions.length > 0) void podcastLoader.notify();
      stamp = page.syncTimestamp;
    }
    return stamp;
  }
  let page = await retryUntilAnswered(() => api.listSubscriptions({ perPage: perPage.first }));
  const { syncTimestamp } = page;
  for (;;) {
    total.value = page.total;
    applyRows(page.subscriptions, loaded);
    const { next } = page;
    if (next === undefined) break;
    // Replaces the page size of the first page, which is small. The API uses only a link's query.
    const link = next.replace(/\bper_page=\d+/, `per_page=${perPage.others}`);
    page = await retryUntilAnswered(() => api.listSubscriptions({ link }));
  }
  isComplete.value = true;
  return syncTimestamp;
});

/** Applies rows of the API, in any order, since each contains the current state. */
function applyRows(rows: readonly Subscription[], into: Map<string, ListedSubscription>): void {
  for (const {
    guid,
    new_guid,
    feed_url: feedUrl,
    is_subscribed: isSubscribed,
    title = '',
    deleted,
  } of rows) {
    const key = new_guid ?? guid;
    if (key !== guid) removeRow(guid);
    if (deleted) removeRow(key);
    else putRow({ guid: key, feedUrl, isSubscribed, title }, into);
  }
  version.value++;
}

function putRow(row: ListedSubscription, into: Map<string, ListedSubscription>): void {
  const map = loaded.has(row.guid) ? loaded : added.has(row.guid) ? added : into;
  map.set(row.guid, row);
}

function removeRow(guid: string): void {
  loaded.delete(guid);
  added.delete(guid);
}

/** Subscribes to a feed. @param feedUrl as the user typed it. */
export function addSubscription(feedUrl: string): Promise<Outcome> {
  return trackChange({ kind: 'add', feedUrl }, async (api, timestamp) =>
    subscribe(api, feedUrl, {}, timestamp),
  );
}

/** Subscribes again, or unsubscribes. */
export function setSubscribed(
  { guid, feedUrl, title }: ListedSubscription,
  isSubscribed: boolean,
): Promise<Outcome> {
  const kind = isSubscribed ? 'subscribe' : 'unsubscribe';
  return trackChange({ kind, guid, feedUrl }, async (api, timestamp) => {
    if (isSubscribed) return subscribe(api, feedUrl, { guid, title }, timestamp);
    const { is_subscribed = false } = await api.updateSubscription(guid, {
      is_subscribed: false,
      ...timestamp,
    });
    // A later change of another client wins, and the response contains the resulting state.
    applyRows([{ guid, feed_url: feedUrl, is_subscribed, title }], added);
    return is_subscribed ? 'superseded' : 'done';
  });
}

/** Sets the listener's title. @param newTitle empty to remove it. */
export function changeTitle(
  { guid, feedUrl }: ListedSubscription,
  newTitle: string,
): Promise<Outcome> {
  return trackChange({ kind: 'rename', guid, feedUrl }, async (api, timestamp) => {
    const { title = newTitle } = await api.updateSubscription(guid, {
      title: newTitle,
      ...timestamp,
    });
    const row = subscriptionByGuid(guid);
    if (row) putRow({ ...row, title }, added);
    version.value++;
    return 'done';
  });
}

/** Changes the URL of a feed. */
export function changeFeedUrl(
  { guid, isSubscribed, title }: ListedSubscription,
  newUrl: string,
): Promise<Outcome> {
  return trackChange({ kind: 'move', guid, feedUrl: newUrl }, async (api) => {
    await api.updateSubscription(guid, { new_feed_url: newUrl });
    applyRows([{ guid, feed_url: newUrl, is_subscribed: isSubscribed, title }], added);
    return 'done';
  });
}

/** Deletes a subscription with all its episodes, and waits for the end of the deletion. */
export function deleteSubscription({ guid, feedUrl }: ListedSubscription): Promise<Outcome> {
  return trackChange({ kind: 'delete', guid, feedUrl }, async (api, timestamp) => {
    const { deletion_id: id } = await api.deleteSubscription(guid, timestamp);
    for (;;) {
      const { status } = await retryUntilAnswered(() => api.getDeletion(id));
      if (status === 'FAILURE') return 'superseded';
      if (status === 'SUCCESS') break;
      await new Promise((resolve) => setTimeout(resolve, deletionPollInterval));
    }
    removeRow(guid);
    version.value++;
    return 'done';
  });
}

async function subscribe(
  api: Api,
  feedUrl: string,
  { guid, title }: Partial<ListedSubscription>,
  timestamp: object,
): Promise<Outcome> {
  const entry = { feed_url: feedUrl, ...(guid !== undefined && { guid }), ...timestamp };
  const { success, failure } = await api.addSubscriptions([entry]);
  if (failure[0]) return failure[0].code;
  // The response has no title.
  applyRows(
    success.map((row) => ({ ...row, title: title ?? subscriptionByGuid(row.guid)?.title ?? '' })),
    added,
  );
  return 'done';
}

/**
 * Sends a change, and keeps it in {@link pending} until the response.
 *
 * @returns `failed` if the server rejects it. A deletion of a subscription that no longer exists is
 *   `done`, any other change of it `unknown_subscription`.
 */
async function trackChange(
  change: PendingChange,
  request: (api: Api, timestamp: { timestamp: string }) => Promise<Outcome>,
): Promise<Outcome> {
  const now = Date.now();
  const displayed = Date.parse(subscriptionLoader.since ?? '1970-01-01');
  pending.value = [change, ...pending.value];
  try {
    const api = await retryUntilAnswered(connect);
    return await retryUntilAnswered(() => {
      // The time is that of the user's action, so that a late request does not undo later changes.
      // It is also later than the displayed state.
      const time = new Date(Math.max(now + api.clockOffset, displayed + 1));
      return request(api, { timestamp: time.toISOString() });
    });
  } catch (error) {
    const code = error instanceof ApiError ? error.code : undefined;
    if (change.guid === undefined || (code !== 'not_found' && code !== 'deleted')) return 'failed';
    // The subscription is already deleted.
    removeRow(change.guid);
    version.value++;
    return change.kind === 'delete' ? 'done' : 'unknown_subscription';
  } finally {
    void podcastLoader.notify();
    pending.value = pending.value.filter((other) => other !== change);
  }
}
