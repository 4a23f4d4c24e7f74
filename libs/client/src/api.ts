import { readChangeStream } from './change-stream.js';
import { ApiError } from './errors.js';
import { randomUuid } from './random-uuid.js';
import {
  type ApiOptions,
  type CallOptions,
  parseJson,
  type Request,
  RequestSender,
} from './request-sender.js';
import type {
  Capabilities,
  Deletion,
  DeletionAccepted,
  Episode,
  EpisodeEntry,
  FeedEpisode,
  FeedPreview,
  ImportAnswer,
  Podcast,
  SubscribeAnswer,
  Subscription,
  SubscriptionEntry,
  SubscriptionPatch,
  UpdateAnswer,
  UploadAnswer,
} from './wire.js';

/** Options of a call that writes. */
export interface WriteOptions extends CallOptions {
  /**
   * At most 255 visible ASCII characters. Requests with the same key within one hour take effect
   * once and get the same response. By default a call uses one new key for all its retries.
   */
  idempotencyKey?: string;
}

/** Options of a call that reads a list. */
export interface ListOptions extends CallOptions {
  /** `etag` of an earlier page of the same query. An unchanged page gives {@link NotModified}. */
  ifNoneMatch?: string;
}

/** Selects the page of a list. */
export interface ListQuery {
  /** Selects rows that changed after this stored `syncTimestamp`. Default: all rows. */
  since?: string | undefined;
  /** Number of the page, from 1. Numbered pages can repeat or miss rows; `link` avoids this. */
  page?: number;
  /** Rows per page. The server reduces values above 250. Default: 50. */
  perPage?: number;
  /** The `next` or `previous` link of a page. The SDK then ignores the other fields. */
  link?: string;
}

/** Selects the page of the list of episodes. */
export interface EpisodeQuery extends ListQuery {
  /** A current or former guid of a podcast: selects only its episodes. */
  podcastGuid?: string;
}

/** A page of a list. */
export interface Page {
  notModified: false;
  /** Number of matching rows on all pages. */
  total: number;
  page: number;
  perPage: number;
  /** Links to the next and previous page, for {@link ListQuery.link}; absent at the ends. */
  next?: string;
  previous?: string;
  /** `since` of the next poll. Equal on all pages of a read; store it after the last page. */
  syncTimestamp: string;
  etag?: string;
}

/** A page of subscriptions. */
export type SubscriptionPage = Page & { subscriptions: Subscription[] };
/** A page of episodes. */
export type EpisodePage = Page & { episodes: Episode[] };

/** A page of subscribed podcasts. */
export type PodcastPage = Omit<Page, 'total' | 'page' | 'previous'> & { feeds: Podcast[] };
/** A page of the episodes of subscribed feeds that the server first read after `since`. */
export type NewEpisodePage = Pick<Page, 'notModified' | 'next' | 'syncTimestamp' | 'etag'> & {
  episodes: FeedEpisode[];
};

/** Result of a list read with `ifNoneMatch` if nothing has changed. */
export interface NotModified {
  notModified: true;
  syncTimestamp: string;
}

/** The operations of the API (docs/reference/interface.md). Failed calls throw ApiError. */
export interface Api {
  /** `POST /subscriptions`: adds at most 1,000 subscriptions. */
  addSubscriptions(
    entries: readonly SubscriptionEntry[],
    options?: WriteOptions,
  ): Promise<SubscribeAnswer>;
  /** `GET /subscriptions`: returns one page. */
  listSubscriptions(
    query: ListQuery,
    options: ListOptions & { ifNoneMatch: string },
  ): Promise<SubscriptionPage | NotModified>;
  /** `GET /subscriptions` without `ifNoneMatch`. */
  listSubscriptions(query?: ListQuery, options?: CallOptions): Promise<SubscriptionPage>;
  /** `GET /subscriptions`: yields all pages in order. */
  subscriptions(
    query?: Pick<ListQuery, 'since' | 'perPage'>,
    options?: CallOptions,
  ): AsyncIterable<SubscriptionPage>;
  /** `GET /subscriptions/{guid}`: returns a subscription by its current or a former guid. */
  getSubscription(guid: string, options?: CallOptions): Promise<Subscription>;
  /** `PATCH /subscriptions/{guid}`: changes the URL, the guid, the title or `is_subscribed`. */
  updateSubscription(
    guid: string,
    patch: SubscriptionPatch,
    options?: WriteOptions,
  ): Promise<UpdateAnswer>;
  /**
   * `DELETE /subscriptions/{guid}`: requests the deletion of a subscription and its episodes. The
   * server deletes asynchronously; see {@link getDeletion}.
   *
   * @param when.timestamp time at which the listener deleted it (RFC 3339). Default: now.
   */
  deleteSubscription(
    guid: string,
    when?: { timestamp?: string },
    options?: WriteOptions,
  ): Promise<DeletionAccepted>;
  /** `GET /deletions/{id}`: returns the status of a deletion. */
  getDeletion(id: number, options?: CallOptions): Promise<Deletion>;
  /** `GET /episodes`: returns one page. */
  listEpisodes(
    query: EpisodeQuery,
    options: ListOptions & { ifNoneMatch: string },
  ): Promise<EpisodePage | NotModified>;
  /** `GET /episodes` without `ifNoneMatch`. */
  listEpisodes(query?: EpisodeQuery, options?: CallOptions): Promise<EpisodePage>;
  /** `GET /episodes`: yields all pages in order. */
  episodes(
    query?: Pick<EpisodeQuery, 'since' | 'podcastGuid' | 'perPage'>,
    options?: CallOptions,
  ): AsyncIterable<EpisodePage>;
  /** `POST /episodes`: uploads at most 250 episodes. */
  uploadEpisodes(entries: readonly EpisodeEntry[], options?: WriteOptions): Promise<UploadAnswer>;
  /** `GET /subscriptions.opml`: returns all subscribed feeds as OPML 2.0. */
  exportOpml(options?: CallOptions): Promise<string>;
  /** `POST /subscriptions/opml`: imports at most 2 MiB and 5,000 feeds. */
  importOpml(opml: string, options?: WriteOptions): Promise<ImportAnswer>;
  /** `GET /feeds`: yields all pages of the subscribed podcasts with their titles and pictures. */
  feeds(
    query?: Pick<ListQuery, 'since' | 'perPage'>,
    options?: CallOptions,
  ): AsyncIterable<PodcastPage>;
  /** `GET /feeds/episodes?guid=`: returns the newest episodes of a podcast. */
  feedEpisodes(guid: string, options?: CallOptions): Promise<{ episodes: FeedEpisode[] }>;
  /**
   * `GET /feeds/episodes?since=`: yields pages of the episodes that the server first read after
   * `since`. Episodes from before the subscription are only in {@link feedEpisodes}.
   *
   * @param since a `syncTimestamp` of a page of {@link feeds} or of this method.
   */
  newEpisodes(since: string, options?: CallOptions): AsyncIterable<NewEpisodePage>;
  /**
   * `POST /feeds/preview`: returns a description of the feed at a URL, before a subscription. After
   * 20 calls in a minute, further calls throw `too_many`. A call takes up to 20 seconds.
   */
  previewFeed(feedUrl: string, options?: CallOptions): Promise<FeedPreview>;
  /** `POST /feeds/refresh`: requests a fetch of at most 250 feeds. Returns the sent guids. */
  refreshFeeds(guids: readonly string[], options?: CallOptions): Promise<{ guids: string[] }>;
  /**
   * `GET /changes`: yields the current `Sync-Timestamp`, then a new one after each change. The
   * iteration ends with the stream. Call the method again to continue.
   */
  changes(options?: CallOptions): AsyncIterable<string>;
  /** `GET /capabilities`: returns the capabilities of the server with their versions. */
  capabilities(options?: CallOptions): Promise<Capabilities>;
  /**
   * Milliseconds by which the server's clock is ahead of the device's, estimated from responses; 0
   * before the first response and for differences below about 2 s.
   */
  readonly clockOffset: number;
}

function createRequests(sender: RequestSender) {
  const getJson = <T>(path: string, { signal }: CallOptions = {}) =>
    sender.sendAndRead<T>({ method: 'GET', path, signal }, readJson);

  const sendText = <T>(
    method: Request['method'],
    path: string,
    body: string | undefined,
    contentType: string,
    { idempotencyKey = randomUuid(), signal }: WriteOptions = {},
  ) => {
    const headers = {
      'idempotency-key': idempotencyKey,
      ...(body !== undefined && { 'content-type': contentType }),
    };
    return sender.sendAndRead<T>({ method, path, headers, body, signal }, readJson);
  };

  const sendJson = <T>(
    method: Request['method'],
    path: string,
    body?: object,
    options?: WriteOptions,
  ) => sendText<T>(method, path, body && JSON.stringify(body), 'application/json', options);

  return [getJson, sendJson, sendText] as const;
}

function createLists(sender: RequestSender) {
  async function readPage<Rows extends object>(
    path: string,
    query: ListQuery = {},
    { ifNoneMatch, signal }: ListOptions = {},
  ) {
    const request: Request = {
      method: 'GET',
      path: path + toQueryString(query),
      headers: ifNoneMatch === undefined ? {} : { 'if-none-match': ifNoneMatch },
      signal,
    };
    return sender.sendAndRead(request, async (response): Promise<(Page & Rows) | NotModified> => {
      const syncTimestamp = response.headers.get('sync-timestamp');
      if (syncTimestamp === null)
        throw new ApiError('unexpected', 'The server does not support urn:podcast-sync:polling');
      if (response.status === 304) return { notModified: true, syncTimestamp };
      const { per_page: perPage, ...body } = await readJson<
        Omit<Page, 'perPage'> & { per_page: number } & Rows
      >(response);
      const etag = response.headers.get('etag') ?? undefined;
      return {
        ...(body as unknown as Page & Rows),
        perPage,
        notModified: false,
        syncTimestamp,
        ...(etag && { etag }),
      };
    });
  }

  async function* readPages<Rows extends object>(
    path: string,
    query: ListQuery = {},
    options?: CallOptions,
  ) {
    for (let next: ListQuery | undefined = query; next;) {
      const page: (Page & Rows) | NotModified = await readPage<Rows>(path, next, options);
      if (page.notModified) return;
      yield page;
      next = page.next === undefined ? undefined : { link: page.next };
    }
  }

  return [readPage, readPages] as const;
}

/** Returns a client of the API at a base URL, for one user. */
export function createApi(options: ApiOptions): Api {
  const sender = new RequestSender(options);
  const [getJson, sendJson, sendText] = createRequests(sender);
  const [readPage, readPages] = createLists(sender);
  const toSubscriptionPath = (guid: string) => `/subscriptions/${encodeURIComponent(guid)}`;
  return {
    addSubscriptions: (subscriptions, call) =>
      sendJson('POST', '/subscriptions', { subscriptions }, call),
    listSubscriptions: ((query?: ListQuery, call?: ListOptions) =>
      readPage('/subscriptions', query, call)) as Api['listSubscriptions'],
    subscriptions: (query, call) => readPages('/subscriptions', query, call),
    getSubscription: (guid, call) => getJson(toSubscriptionPath(guid), call),
    updateSubscription: (guid, patch, call) =>
      sendJson('PATCH', toSubscriptionPath(guid), patch, call),
    deleteSubscription: (guid, { timestamp } = {}, call) => {
      const query = timestamp === undefined ? '' : `?timestamp=${encodeURIComponent(timestamp)}`;
      return sendJson('DELETE', toSubscriptionPath(guid) + query, undefined, call);
    },
    getDeletion: (id, call) => getJson(`/deletions/${id}`, call),
    listEpisodes: ((query?: EpisodeQuery, call?: ListOptions) =>
      readPage('/episodes', query, call)) as Api['listEpisodes'],
    episodes: (query, call) => readPages('/episodes', query, call),
    uploadEpisodes: (episodes, call) => sendJson('POST', '/episodes', { episodes }, call),
    exportOpml: ({ signal } = {}) =>
      sender.sendAndRead(
        { method: 'GET', path: '/subscriptions.opml', type: 'text/x-opml', signal },
        (response) => response.text(),
      ),
    importOpml: (opml, call) => sendText('POST', '/subscriptions/opml', opml, 'text/x-opml', call),
    feeds: (query, call) => readPages<{ feeds: Podcast[] }>('/feeds', query, call),
    feedEpisodes: (guid, call) => getJson(`/feeds/episodes?guid=${encodeURIComponent(guid)}`, call),
    newEpisodes: (since, call) =>
      readPages<{ episodes: FeedEpisode[] }>('/feeds/episodes', { since }, call),
    previewFeed: (feedUrl, call) => sendJson('POST', '/feeds/preview', { feed_url: feedUrl }, call),
    refreshFeeds: (guids, call) => sendJson('POST', '/feeds/refresh', { guids }, call),
    changes: ({ signal } = {}) => readChangeStream(sender, signal),
    capabilities: (call) => getJson('/capabilities', call),
    get clockOffset() {
      return sender.clockOffset;
    },
  };
}

/** Returns the body of a response. @throws ApiError `unexpected` if it is no JSON object. */
async function readJson<T>(response: Response): Promise<T> {
  const value = parseJson(await response.text());
  if (typeof value === 'object' && value !== null) return value as T;
  const { status } = response;
  throw new ApiError('unexpected', 'The response is not a JSON object', { status });
}

/**
 * Returns the query string of a list request. Takes only the query of a link, because the token
 * must go only to the base URL. Behind a proxy, a link can have another host.
 */
function toQueryString({ link, perPage, podcastGuid, ...otherFields }: EpisodeQuery): string {
  if (link !== undefined) return /\?[^#]*/.exec(link)?.[0] ?? '';
  // JSON omits undefined fields. `URLSearchParams` would write them as `undefined`.
  const definedFields = JSON.stringify({
    ...otherFields,
    per_page: perPage,
    podcast_guid: podcastGuid,
  });
  const query = new URLSearchParams(JSON.parse(definedFields)).toString();
  return query && `?${query}`;
}
