import { v5 as uuidv5 } from 'uuid';

type Body = Record<string, unknown>;

/** A request, with all that decides its answer. `name` is any guid that the feed ever had. */
export type Request =
  | { op: 'subscribe'; feed: number; url: string }
  | {
      op: 'update';
      feed: number;
      name: string;
      isSubscribed: boolean;
      newGuid?: string;
      newUrl?: string;
    }
  | { op: 'delete'; feed: number; name: string }
  | { op: 'upload'; feed: number; name: string; episode: string; position: number; minute: number }
  | { op: 'read'; feed: number; name: string }
  | { op: 'list' }
  | { op: 'episodes' }
  | { op: 'deletion'; id: number };

export interface Call {
  request: Request;
  answer: { status: number; body: Body };
}

interface Feed {
  /** True if the subscription was ever created, and if it exists now. */
  known: boolean;
  live: boolean;
  subscribed: boolean;
  guid: string;
  url: string;
  episodes: Record<string, { position: number; minute: number }>;
  /** The deletion that can run at any time. */
  pending?: number;
}

/** The data of a user. */
export interface State {
  feeds: Feed[];
  /** Ends of deletions, also of those that a worker has not run yet. */
  ended: Record<number, 'SUCCESS' | 'FAILURE'>;
}

/** The guid of a feed that declares none (podcast namespace). */
export const guidOf = (url: string) =>
  uuidv5(url.replace('https://', ''), 'ead4c236-bf58-58c6-a2c6-a6b28d128cb6');

/** Returns the state of a new user, with the URLs of possible feeds. */
export function nothing(urls: readonly string[]): State {
  const unknown = { known: false, live: false, subscribed: false };
  const feeds = urls.map((url) => ({ ...unknown, guid: guidOf(url), url, episodes: {} }));
  return { feeds, ended: {} };
}

/**
 * Returns all possible states after the calls in any order, with pending deletions run at any
 * time; none if no order explains the answers.
 */
export function outcomes(before: readonly State[], calls: readonly Call[]): State[] {
  const possible = distinct(before.flatMap(withDeletions));
  if (calls.length === 0 || possible.length === 0) return possible;
  return distinct(
    calls.flatMap((call, index) => {
      const after = possible
        .map((state) => step(structuredClone(state), call))
        .filter((state) => state !== undefined);
      return outcomes(after, calls.toSpliced(index, 1));
    }),
  );
}

function distinct(states: readonly State[]): State[] {
  return [...new Map(states.map((state) => [JSON.stringify(state), state])).values()];
}

/** A state, and what it becomes when some of its pending deletions are carried out. */
function withDeletions(state: State): State[] {
  return state.feeds.reduce<State[]>(
    (states, _, index) =>
      states.flatMap((each) =>
        each.feeds[index]?.pending ? [each, deleted(each, index)] : [each],
      ),
    [state],
  );
}

function deleted(state: State, index: number): State {
  const next = structuredClone(state);
  const feed = next.feeds[index] as Feed;
  next.ended[Number(feed.pending)] = 'SUCCESS';
  Object.assign(feed, { live: false, subscribed: false, episodes: {} });
  delete feed.pending;
  return next;
}

/** Returns the state after a call, if its answer matches the state. Changes the given state. */
function step(state: State, { request, answer }: Call): State | undefined {
  const feed = 'feed' in request ? (state.feeds[request.feed] as Feed) : undefined;
  const { status, body } = answer;
  if (status >= 500) return undefined;
  switch (request.op) {
    case 'subscribe':
      return subscribe(state, feed!, request.url, answer);
    case 'update':
      return update(state, feed!, request, answer);
    case 'delete':
      return remove(state, feed!, answer);
    case 'upload':
      return upload(state, feed!, request, answer);
    case 'read':
      if (!feed!.live) return status === (feed!.known ? 410 : 404) ? state : undefined;
      return status === 200 && same(shownAs(body), rowOf(feed!)) ? state : undefined;
    case 'list': {
      const rows = state.feeds.filter(({ known }) => known).map(rowOf);
      return same(sorted((body['subscriptions'] as Body[]).map(shownAs)), sorted(rows))
        ? state
        : undefined;
    }
    case 'episodes':
      return same(
        sorted((body['episodes'] as Body[]).map(episodeOf)),
        sorted(state.feeds.flatMap(episodesIn)),
      )
        ? state
        : undefined;
    case 'deletion':
      return statusesOf(state, request.id).includes(body['status']) ? state : undefined;
  }
}

function subscribe(
  state: State,
  feed: Feed,
  url: string,
  { status, body }: Call['answer'],
): State | undefined {
  // POST wins over a deletion that has not run.
  if (feed.pending) state.ended[feed.pending] = 'FAILURE';
  delete feed.pending;
  Object.assign(feed, { known: true, live: true, subscribed: true });
  const [{ subscription_changed: _, ...item } = {} as Body] = (body['success'] ?? []) as Body[];
  return status === 200 && same(item, { feed_url: url, guid: feed.guid, is_subscribed: true })
    ? state
    : undefined;
}

function update(
  state: State,
  feed: Feed,
  { isSubscribed, newGuid, newUrl }: Request & { op: 'update' },
  { status, body }: Call['answer'],
): State | undefined {
  if (!feed.live) return status === 404 ? state : undefined;
  feed.subscribed = isSubscribed;
  feed.guid = newGuid ?? feed.guid;
  feed.url = newUrl ?? feed.url;
  const answered = [body['is_subscribed'], body['new_guid'], body['new_feed_url']];
  return status === 200 && same(answered, [isSubscribed, newGuid, newUrl]) ? state : undefined;
}

function remove(state: State, feed: Feed, { status, body }: Call['answer']): State | undefined {
  if (!feed.live) return status === 404 ? state : undefined;
  const id = body['deletion_id'] as number;
  const isNew = !(id in state.ended) && state.feeds.every(({ pending }) => pending !== id);
  if (status !== 202 || (feed.pending ? feed.pending !== id : !isNew)) return undefined;
  feed.pending = id;
  return state;
}

function upload(
  state: State,
  feed: Feed,
  { episode, position, minute }: Request & { op: 'upload' },
  { status, body }: Call['answer'],
): State | undefined {
  const [success] = (body['success'] ?? []) as Body[];
  if (!feed.live) return status === 200 && !success ? state : undefined;
  const current = feed.episodes[episode];
  if (!current || current.minute <= minute) feed.episodes[episode] = { position, minute };
  const now = { guid: feed.guid, episode, position: feed.episodes[episode]?.position };
  return status === 200 && success && same(episodeOf(success), now) ? state : undefined;
}

function rowOf({ guid, url, subscribed, live }: Feed) {
  return { guid, url, subscribed, live };
}

function shownAs(row: Body) {
  const [guid, url, subscribed] = [
    row['new_guid'] ?? row['guid'],
    row['feed_url'],
    row['is_subscribed'],
  ];
  return { guid, url, subscribed, live: row['deleted'] === undefined };
}

function episodesIn({ guid, episodes }: Feed) {
  return Object.entries(episodes).map(([episode, { position }]) => ({ guid, episode, position }));
}

function episodeOf(row: Body) {
  const position = (row['playback_position'] as Body | undefined)?.['value'];
  return { guid: row['podcast_guid'], episode: row['episode_guid'], position };
}

/** A deletion that lost to a POST is shown as PENDING until a worker or the next DELETE ends it. */
function statusesOf(state: State, id: number): unknown[] {
  if (state.feeds.some(({ pending }) => pending === id)) return ['PENDING'];
  return state.ended[id] === 'FAILURE' ? ['PENDING', 'FAILURE'] : [state.ended[id]];
}

const same = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);
const sorted = (rows: readonly unknown[]) => rows.map((row) => JSON.stringify(row)).sort();
