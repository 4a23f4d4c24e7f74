import { computed, signal } from '@preact/signals';
import { type Api, ApiError, type EntryFailureCode, type Subscription } from '#client';
import { untilAnswered } from './network.js';
import { Pulls } from './pulls.js';
import { connect } from './session.js';

/** A subscription as the console shows it: under its current guid. */
export interface Row {
  readonly guid: string;
  readonly feedUrl: string;
  readonly isSubscribed: boolean;
}

/** What was asked for and is not answered yet. */
export interface Pending {
  readonly kind: 'add' | 'subscribe' | 'unsubscribe' | 'move' | 'delete';
  /** Of what it is about; absent for what is added. */
  readonly guid?: string;
  readonly feedUrl: string;
}

/** How something ended that was asked for. */
export type Outcome = 'done' | EntryFailureCode | 'failed';

/** The first page is small, so that it is there soon. */
const perPage = { first: 50, more: 250 };
/** How often it is asked how a deletion goes, in milliseconds. */
const deletionPollMs = 700;

/** In the order of the server: when they were first made. */
const listed = new Map<string, Row>();
/** What came while the page was open, the newest last. */
const fresh = new Map<string, Row>();
const version = signal(0);

/** All but deleted ones: what came while the page was open first, then in the order in which they were made. */
export const rows = computed((): readonly Row[] => {
  void version.value;
  return [...[...fresh.values()].reverse(), ...listed.values()];
});
/** How many there are by the server's count, deleted ones among them; not known at first. */
export const total = signal<number>();
/** Whether all of them are there. */
export const isComplete = signal(false);
/** What is asked for, the newest first. */
export const pending = signal<readonly Pending[]>([]);

/** The feed of a subscription, by its current guid. */
export function feedOf(guid: string): string | undefined {
  void version.value;
  return (fresh.get(guid) ?? listed.get(guid))?.feedUrl;
}

/** Brings in what has changed since the last time; at first everything, page by page. */
export const subscriptionPulls = new Pulls(async (since, api) => {
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
    // Only the query of a link counts, and its pages may be larger than the first one.
    const link = next.replace(/\bper_page=\d+/, `per_page=${perPage.more}`);
    page = await untilAnswered(() => api.listSubscriptions({ link }));
  }
  isComplete.value = true;
  return syncTimestamp;
});

/** What a list says stands, in whichever order it comes: each row has what its subscription is now. */
function apply(subscriptions: readonly Subscription[], into: Map<string, Row>): void {
  for (const { guid, new_guid, feed_url: feedUrl, is_subscribed: isSubscribed, deleted } of subscriptions) {
    const key = new_guid ?? guid;
    if (key !== guid) drop(guid);
    if (deleted) drop(key);
    else put({ guid: key, feedUrl, isSubscribed }, into);
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

/** Subscribes to a feed. @param feedUrl as it was typed. */
export function add(feedUrl: string): Promise<Outcome> {
  return during({ kind: 'add', feedUrl }, async (api, timestamp) => subscribed(api, feedUrl, undefined, timestamp));
}

/** Subscribes again, or ends it. */
export function setSubscribed({ guid, feedUrl }: Row, isSubscribed: boolean): Promise<Outcome> {
  const kind = isSubscribed ? 'subscribe' : 'unsubscribe';
  return during({ kind, guid, feedUrl }, async (api, timestamp) => {
    if (isSubscribed) return subscribed(api, feedUrl, guid, timestamp);
    const { is_subscribed = false } = await api.updateSubscription(guid, { is_subscribed: false, ...timestamp });
    // Where that came later than this was done, it is still subscribed.
    apply([{ guid, feed_url: feedUrl, is_subscribed }], fresh);
    return is_subscribed ? 'superseded' : 'done';
  });
}

/** Tells the server that a feed has a new address. */
export function move({ guid, isSubscribed }: Row, newUrl: string): Promise<Outcome> {
  return during({ kind: 'move', guid, feedUrl: newUrl }, async (api) => {
    await api.updateSubscription(guid, { new_feed_url: newUrl });
    apply([{ guid, feed_url: newUrl, is_subscribed: isSubscribed }], fresh);
    return 'done';
  });
}

/** Deletes a subscription with all its episodes, and settles once that is over. */
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

async function subscribed(api: Api, feedUrl: string, guid: string | undefined, timestamp: object): Promise<Outcome> {
  const entry = { feed_url: feedUrl, ...(guid !== undefined && { guid }), ...timestamp };
  const { success, failure } = await api.addSubscriptions([entry]);
  if (failure[0]) return failure[0].code;
  apply(success, fresh);
  return 'done';
}

/** Shows that something is asked for until it is answered, and asks until then. @returns `failed` where it is refused. */
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
      // However late it is sent, it undoes nothing that came afterwards, and is newer than what was shown.
      const time = new Date(Math.max(now + api.clockOffset, seen + 1));
      return run(api, { timestamp: time.toISOString() });
    });
  } catch (error) {
    const code = error instanceof ApiError ? error.code : undefined;
    if (what.guid === undefined || (code !== 'not_found' && code !== 'deleted')) return 'failed';
    // It is gone already.
    drop(what.guid);
    version.value++;
    return what.kind === 'delete' ? 'done' : 'unknown_subscription';
  } finally {
    pending.value = pending.value.filter((each) => each !== what);
  }
}
