import { changes } from './changes.js';
import { ApiError } from './errors.js';
import { type ApiOptions, type CallOptions, type Request, Sending } from './sending.js';
import { newKey } from './key.js';
import type {
  Deletion,
  DeletionAccepted,
  Episode,
  EpisodeEntry,
  ImportAnswer,
  SubscribeAnswer,
  Subscription,
  SubscriptionEntry,
  SubscriptionPatch,
  UpdateAnswer,
  UploadAnswer,
} from './wire.js';

/** What may go with a write. */
export interface WriteOptions extends CallOptions {
  /**
   * Sent with the same key within an hour, the same request takes effect once and gets its first answer again. A new one
   * for each call unless given, which the retries of the call share. At most 255 visible ASCII characters.
   */
  idempotencyKey?: string;
}

/** What may go with a list. */
export interface ListOptions extends CallOptions {
  /** The `etag` of the same list: if nothing has changed, the answer is {@link NotModified}. */
  ifNoneMatch?: string;
}

/** What to list. */
export interface ListQuery {
  /** What changed strictly later; a `syncTimestamp` misses nothing. Everything unless given. */
  since?: string | undefined;
  /** From 1. Pages by number may show a row twice: walk by `link`. */
  page?: number;
  /** At most 250; 50 unless given. */
  perPage?: number;
  /** `next` or `previous` of a page, instead of all of the above. */
  link?: string;
}

/** A page of a list. */
export interface Page {
  notModified: false;
  /** All matches, before paging. */
  total: number;
  page: number;
  perPage: number;
  /** Links to the pages beside this one, for {@link ListQuery.link}. */
  next?: string;
  previous?: string;
  /** The next `since`, once all pages have been read: the same on each page of a walk. */
  syncTimestamp: string;
  etag?: string;
}

export type SubscriptionPage = Page & { subscriptions: Subscription[] };
export type EpisodePage = Page & { episodes: Episode[] };

/** Nothing has changed since the page with the `ifNoneMatch` that was sent. */
export interface NotModified {
  notModified: true;
  syncTimestamp: string;
}

/** Every operation of the interface (docs/reference/interface.md), each as one call. @throws ApiError, each of them. */
export interface Api {
  /** `POST /subscriptions`: at most 1,000. */
  addSubscriptions(entries: readonly SubscriptionEntry[], options?: WriteOptions): Promise<SubscribeAnswer>;
  /** `GET /subscriptions`: one page. */
  listSubscriptions(
    query: ListQuery,
    options: ListOptions & { ifNoneMatch: string },
  ): Promise<SubscriptionPage | NotModified>;
  listSubscriptions(query?: ListQuery, options?: CallOptions): Promise<SubscriptionPage>;
  /** All pages, one after the other. */
  subscriptions(query?: Pick<ListQuery, 'since' | 'perPage'>, options?: CallOptions): AsyncIterable<SubscriptionPage>;
  /** `GET /subscriptions/{guid}`, by any guid that it ever had. */
  getSubscription(guid: string, options?: CallOptions): Promise<Subscription>;
  /** `PATCH /subscriptions/{guid}` */
  updateSubscription(guid: string, patch: SubscriptionPatch, options?: WriteOptions): Promise<UpdateAnswer>;
  /** `DELETE /subscriptions/{guid}`. @param when.timestamp when the listener deleted it (RFC 3339); now unless given. */
  deleteSubscription(guid: string, when?: { timestamp?: string }, options?: WriteOptions): Promise<DeletionAccepted>;
  /** `GET /deletions/{id}` */
  getDeletion(id: number, options?: CallOptions): Promise<Deletion>;
  /** `GET /episodes`: one page. */
  listEpisodes(query: ListQuery, options: ListOptions & { ifNoneMatch: string }): Promise<EpisodePage | NotModified>;
  listEpisodes(query?: ListQuery, options?: CallOptions): Promise<EpisodePage>;
  /** All pages, one after the other. */
  episodes(query?: Pick<ListQuery, 'since' | 'perPage'>, options?: CallOptions): AsyncIterable<EpisodePage>;
  /** `POST /episodes`: at most 250. */
  uploadEpisodes(entries: readonly EpisodeEntry[], options?: WriteOptions): Promise<UploadAnswer>;
  /** `GET /subscriptions.opml`: all that is subscribed, as OPML 2.0. */
  exportOpml(options?: CallOptions): Promise<string>;
  /** `POST /subscriptions/opml`: at most 2 MiB and 5,000 feeds. */
  importOpml(opml: string, options?: WriteOptions): Promise<ImportAnswer>;
  /** `GET /changes`: one stream of the user's clock, at once and whenever it moves; see {@link changes}. */
  changes(options?: CallOptions): AsyncIterable<string>;
  /** By how much the server's clock is ahead of the device's, in milliseconds, as far as answers have told. */
  readonly clockOffset: number;
}

/** Returns the kinds of request that the interface's operations consist of. */
function requestsOf(sending: Sending) {
  const read = <T>(path: string, call: CallOptions = {}) =>
    sending.send({ method: 'GET', path, type: 'application/json', signal: call.signal }, (answer) => json<T>(answer));

  const write = <T>(method: Request['method'], path: string, body: unknown, call: WriteOptions = {}) =>
    sendText<T>(method, path, body === undefined ? undefined : JSON.stringify(body), 'application/json', call);

  const sendText = <T>(
    method: Request['method'],
    path: string,
    body: string | undefined,
    type: string,
    { idempotencyKey = newKey(), signal }: WriteOptions,
  ) => {
    const headers = { 'idempotency-key': idempotencyKey, ...(body !== undefined && { 'content-type': type }) };
    return sending.send({ method, path, headers, body, type: 'application/json', signal }, (answer) => json<T>(answer));
  };

  async function list<Rows extends object>(
    path: string,
    query: ListQuery = {},
    { ifNoneMatch, signal }: ListOptions = {},
  ) {
    const headers: Record<string, string> = ifNoneMatch === undefined ? {} : { 'if-none-match': ifNoneMatch };
    const request: Request = { method: 'GET', path: path + search(query), headers, type: 'application/json', signal };
    return sending.send(request, async (answer): Promise<(Page & Rows) | NotModified> => {
      const syncTimestamp = answer.headers.get('sync-timestamp');
      if (syncTimestamp === null) throw new ApiError('unexpected', 'The answer has no Sync-Timestamp');
      if (answer.status === 304) return { notModified: true, syncTimestamp };
      const { per_page: perPage, ...body } = await json<Omit<Page, 'perPage'> & { per_page: number } & Rows>(answer);
      const etag = answer.headers.get('etag') ?? undefined;
      return { ...(body as unknown as Page & Rows), perPage, notModified: false, syncTimestamp, ...(etag && { etag }) };
    });
  }

  async function* walk<Rows extends object>(path: string, query: ListQuery = {}, call: CallOptions = {}) {
    for (let link: string | undefined, isFirst = true; isFirst || link !== undefined; isFirst = false) {
      const page = await list<Rows>(path, link === undefined ? query : { link }, call);
      if (page.notModified) return;
      yield page;
      link = page.next;
    }
  }

  return { read, write, sendText, list, walk };
}

/** The interface at a base URL, for one user. */
export function createApi(options: ApiOptions): Api {
  const sending = new Sending(options);
  const { read, write, sendText, list, walk } = requestsOf(sending);
  return {
    addSubscriptions: (subscriptions, call) => write('POST', '/subscriptions', { subscriptions }, call),
    listSubscriptions: ((query?: ListQuery, call?: ListOptions) =>
      list<{ subscriptions: Subscription[] }>('/subscriptions', query, call)) as Api['listSubscriptions'],
    subscriptions: (query, call) => walk('/subscriptions', query, call),
    getSubscription: (guid, call) => read(`/subscriptions/${encodeURIComponent(guid)}`, call),
    updateSubscription: (guid, patch, call) =>
      write('PATCH', `/subscriptions/${encodeURIComponent(guid)}`, patch, call),
    deleteSubscription: (guid, { timestamp } = {}, call) => {
      const when = timestamp === undefined ? '' : `?timestamp=${encodeURIComponent(timestamp)}`;
      return write('DELETE', `/subscriptions/${encodeURIComponent(guid)}${when}`, undefined, call);
    },
    getDeletion: (id, call) => read(`/deletions/${id}`, call),
    listEpisodes: ((query?: ListQuery, call?: ListOptions) =>
      list<{ episodes: Episode[] }>('/episodes', query, call)) as Api['listEpisodes'],
    episodes: (query, call) => walk('/episodes', query, call),
    uploadEpisodes: (episodes, call) => write('POST', '/episodes', { episodes }, call),
    exportOpml: ({ signal } = {}) =>
      sending.send({ method: 'GET', path: '/subscriptions.opml', type: 'text/x-opml', signal }, (answer) =>
        answer.text(),
      ),
    importOpml: (opml, call = {}) => sendText('POST', '/subscriptions/opml', opml, 'text/x-opml', call),
    changes: ({ signal } = {}) => changes(sending, signal),
    get clockOffset() {
      return sending.clockOffset;
    },
  };
}

/** @throws ApiError `unexpected` for what is no JSON object. */
async function json<T>(answer: Response): Promise<T> {
  const text = await answer.text();
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null) return value as T;
  } catch {
    // Said below.
  }
  throw new ApiError('unexpected', 'The answer is no JSON object', { status: answer.status });
}

/**
 * Of a link only the query is used: the token goes nowhere but to the base URL, and a proxy in front may not know by
 * which name it is asked.
 */
function search({ since, page, perPage, link }: ListQuery): string {
  if (link !== undefined) return /\?[^#]*/.exec(link)?.[0] ?? '';
  const fields = Object.entries({ since, page, per_page: perPage }).filter(([, value]) => value !== undefined);
  const query = fields.map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`).join('&');
  return query && `?${query}`;
}
