import { computed, signal } from '@preact/signals';
import { type Api, ApiError, type EntryFailureCode, type Subscription } from '#client';
import { untilAnswered } from './network.js';
import { Pulls } from './pulls.js';
import { connect } from './session.js';

/** A subscription as the console shows it, with its current guid. */
export interface Row {
  readonly guid: string;
  readonly feedUrl: string;
  readonly isSubscribed: boolean;
  /** The listener's own title; empty without one. */
  readonly title: string;
}

/** A change that waits for its response. */
export interface Pending {
  readonly kind: 'add' | 'subscribe' | 'unsubscribe' | 'rename' | 'move' | 'delete';
  /** Absent for a new subscription. */
  readonly guid?: string;
  readonly feedUrl: string;
}

/** The result of a change. */
export type Outcome = 'done' | EntryFailureCode | 'failed';

/** Page sizes. The first page is small for a fast first view. */
const perPage = { first: 50, more: 250 };
const deletionPollMs = 700;

/** In the order of the server, by creation. */
const listed = new Map<string, Row>();
/** Subscriptions that appeared while the page was open, the newest last. */
const fresh = new Map<string, Row>();
const version = signal(0);

/** Subscriptions that are not deleted: the new ones, then the others by creation. */
export const rows = computed((): readonly Row[] => {
  void version.value;
  return [...[...fresh.values()].reverse(), ...listed.values()];
});
/** The total on the server, including deleted ones; undefined before the first response. */
export const total = signal<number>();
/** True after all subscriptions are loaded. */
export const isComplete = signal(false);
/** Pending changes, the newest first. */
export const pending = signal<readonly Pending[]>([]);

/** Returns a subscription by its current guid. */
export function rowOf(guid: string): Row | undefined {
  void version.value;
  return fresh.get(guid) ?? listed.get(guid);
}

/** Loads all subscriptions page by page, then the changes. */
export const subscriptionPulls = new Pulls(async (since) => {
  const api = await connect();
  if (since !== undefined) {
    let now = since;
    for await (const page of api.subscriptions({ since, perPage: perPage.more })) {
      apply(page.subscriptions, fresh);
      now = page.syncTimestamp;
    }
    return now;
  }
  let page = await untilAnswered(() => api.listSubscriptions({ perPage: perPage.first }));
  const { syncTimestamp } = page;
  for (;;) {
    total.value = page.total;
    apply(page.subscriptions, listed);
    const { next } = page;
    if (next === undefined) break;
    // Only the query of a link counts, and later pages can be larger than the first one.
    const link = next.replace(/\bper_page=\d+/, `per_page=${perPage.more}`);
    page = await untilAnswered(() => api.listSubscriptions({ link }));
  }
  isComplete.value = true;
  return syncTimestamp;
});

/** Applies rows of the API. Their order does not matter, as each contains the current state. */
function apply(subscriptions: readonly Subscription[], into: Map<string, Row>): void {
  for (const {
    guid,
    new_guid,
    feed_url: feedUrl,
    is_subscribed: isSubscribed,
    title = '',
    deleted,
  } of subscriptions) {
    const key = new_guid ?? guid;
    if (key !== guid) drop(guid);
    if (deleted) drop(key);
    else put({ guid: key, feedUrl, isSubscribed, title }, into);
  }
  version.value++;
}

function put(row: Row, into: Map<string, Row>): void {
  const where = listed.has(row.guid) ? listed : fresh.has(row.guid) ? fresh : into;
  where.set(row.guid, row);
}

function drop(guid: string): void {
  listed.delete(guid);
  fresh.delete(guid);
}

/** Subscribes to a feed. @param feedUrl as typed. */
export function add(feedUrl: string): Promise<Outcome> {
  return during({ kind: 'add', feedUrl }, async (api, timestamp) =>
    subscribed(api, feedUrl, {}, timestamp),
  );
}

/** Subscribes again, or unsubscribes. */
export function setSubscribed(
  { guid, feedUrl, title }: Row,
  isSubscribed: boolean,
): Promise<Outcome> {
  const kind = isSubscribed ? 'subscribe' : 'unsubscribe';
  return during({ kind, guid, feedUrl }, async (api, timestamp) => {
    if (isSubscribed) return subscribed(api, feedUrl, { guid, title }, timestamp);
    const { is_subscribed = false } = await api.updateSubscription(guid, {
      is_subscribed: false,
      ...timestamp,
    });
    // A later change of another client wins, and the response contains the resulting state.
    apply([{ guid, feed_url: feedUrl, is_subscribed, title }], fresh);
    return is_subscribed ? 'superseded' : 'done';
  });
}

/** Sets the listener's title. @param newTitle empty to remove it. */
export function rename({ guid, feedUrl }: Row, newTitle: string): Promise<Outcome> {
  return during({ kind: 'rename', guid, feedUrl }, async (api, timestamp) => {
    const { title = newTitle } = await api.updateSubscription(guid, {
      title: newTitle,
      ...timestamp,
    });
    const row = rowOf(guid);
    if (row) put({ ...row, title }, fresh);
    version.value++;
    return 'done';
  });
}

/** Changes the URL of a feed. */
export function move({ guid, isSubscribed, title }: Row, newUrl: string): Promise<Outcome> {
  return during({ kind: 'move', guid, feedUrl: newUrl }, async (api) => {
    await api.updateSubscription(guid, { new_feed_url: newUrl });
    apply([{ guid, feed_url: newUrl, is_subscribed: isSubscribed, title }], fresh);
    return 'done';
  });
}

/** Deletes a subscription with all its episodes. The promise resolves after the deletion. */
export function remove({ guid, feedUrl }: Row): Promise<Outcome> {
  return during({ kind: 'delete', guid, feedUrl }, async (api, timestamp) => {
    const { deletion_id: id } = await api.deleteSubscription(guid, timestamp);
    for (;;) {
      const { status } = await untilAnswered(() => api.getDeletion(id));
      if (status === 'FAILURE') return 'superseded';
      if (status === 'SUCCESS') break;
      await new Promise((resolve) => setTimeout(resolve, deletionPollMs));
    }
    drop(guid);
    version.value++;
    return 'done';
  });
}

async function subscribed(
  api: Api,
  feedUrl: string,
  { guid, title }: Partial<Row>,
  timestamp: object,
): Promise<Outcome> {
  const entry = { feed_url: feedUrl, ...(guid !== undefined && { guid }), ...timestamp };
  const { success, failure } = await api.addSubscriptions([entry]);
  if (failure[0]) return failure[0].code;
  // The response has no title.
  apply(
    success.map((row) => ({ ...row, title: title ?? rowOf(row.guid)?.title ?? '' })),
    fresh,
  );
  return 'done';
}

/** Lists a change as pending until its response. @returns `failed` if it is rejected. */
async function during(
  what: Pending,
  run: (api: Api, timestamp: { timestamp: string }) => Promise<Outcome>,
): Promise<Outcome> {
  const now = Date.now();
  const seen = Date.parse(subscriptionPulls.since ?? '1970-01-01');
  pending.value = [what, ...pending.value];
  try {
    const api = await untilAnswered(connect);
    return await untilAnswered(() => {
      // A late request must not undo later changes, so the time is that of the user's action. It is
      // later than the displayed state.
      const time = new Date(Math.max(now + api.clockOffset, seen + 1));
      return run(api, { timestamp: time.toISOString() });
    });
  } catch (error) {
    const code = error instanceof ApiError ? error.code : undefined;
    if (what.guid === undefined || (code !== 'not_found' && code !== 'deleted')) return 'failed';
    // The subscription is already deleted.
    drop(what.guid);
    version.value++;
    return what.kind === 'delete' ? 'done' : 'unknown_subscription';
  } finally {
    pending.value = pending.value.filter((each) => each !== what);
  }
}
