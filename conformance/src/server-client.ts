import { setTimeout as wait } from 'node:timers/promises';

/** A server and the users of a run. */
export interface Target {
  /** Base URL of the API, without a slash at the end. */
  base: string;
  /** Bearer tokens of the first user and, optionally, of the second. */
  tokens: string[];
  /** The time after which no request is sent, in milliseconds since 1970. */
  deadline: number;
}

/** A request of a vector. */
export interface HttpRequest {
  method: string;
  /** A path relative to the base, or the absolute URL of a link. */
  path: string;
  /** The user whose token is sent. `none` sends no token, `invalid` a wrong one. */
  user: 1 | 2 | 'none' | 'invalid';
  headers?: Record<string, string>;
  body?: string;
}

/** The answer to a request. */
export interface HttpAnswer {
  status: number;
  headers: Headers;
  /** The parsed JSON body, or the raw text. */
  body: unknown;
  /** Next `since` of a client: the server's time according to the answer. */
  nextSince: string;
}

/** The fields of a subscription that the runner reads. A faulty server can omit any of them. */
interface SubscriptionRow {
  feed_url?: string;
  guid?: string;
  new_guid?: string;
  deleted?: string;
}

/** Error for a server that the run cannot use. The message says why, such as endless paging. */
export class ServerError extends Error {}

/** Time limit of one request, in milliseconds. */
const requestTimeoutMs = 15_000;
const maxPages = 1_000;
const busyStatuses = [429, 503];
const maxParallelDeletions = 10;

/** Sends the requests of vectors to the server. */
export class ServerClient {
  constructor(readonly target: Target) {}

  /** Returns true if the run has the token of a user. */
  hasUser(user: HttpRequest['user']): boolean {
    return typeof user !== 'number' || this.target.tokens[user - 1] !== undefined;
  }

  /** Sends a request. After a 429 or 503 it waits and sends it again, up to five times. */
  async send(request: HttpRequest): Promise<HttpAnswer> {
    for (let attempt = 0; ; attempt += 1) {
      const answer = await this.sendOnce(request);
      if (!busyStatuses.includes(answer.status) || attempt === 5) return answer;
      const seconds = Number(answer.headers.get('retry-after') ?? 1);
      await wait(Math.min(Math.max(seconds, 1), 30) * 1_000);
    }
  }

  private async sendOnce(request: HttpRequest): Promise<HttpAnswer> {
    const left = this.target.deadline - Date.now();
    if (left <= 0) throw new ServerError('the time limit of the run is over: raise --timeout');
    const sent = Date.now();
    const headers = new Headers(request.headers);
    const token = this.tokenOf(request.user);
    if (token !== undefined) headers.set('authorization', `Bearer ${token}`);
    try {
      const response = await fetch(this.urlOf(request.path), {
        method: request.method,
        headers,
        redirect: 'manual',
        signal: AbortSignal.timeout(Math.min(requestTimeoutMs, left)),
        ...(request.body !== undefined && { body: request.body }),
      });
      const body = jsonOrText(await response.text());
      return {
        status: response.status,
        headers: response.headers,
        body,
        nextSince: nextSinceOf(response.headers, sent),
      };
    } catch (error) {
      if (error instanceof ServerError) throw error;
      const reason = error instanceof Error ? String(error.cause ?? error.message) : String(error);
      throw new ServerError(`no answer to ${request.method} ${request.path}: ${reason}`);
    }
  }

  /**
   * Reads all pages of a list and returns the first answer with the rows of all. It follows `next`.
   * Without `next`, which is optional in the draft, it increases `page` until a page has fewer rows
   * than its `per_page`.
   *
   * @param list name of the array of rows.
   * @param afterFirst runs between the first and the second page.
   */
  async readAllPages(
    request: HttpRequest,
    list: string,
    afterFirst: () => Promise<void> = async () => undefined,
  ): Promise<HttpAnswer> {
    const first = await this.send(request);
    await afterFirst();
    const all = rowsOf(first.body, list);
    let next = nextLinkOf(first.body);
    const hasLinks = next !== undefined;
    let rows = all;
    const isFull = () => rows.length > 0 && rows.length >= perPageOf(first.body);
    for (let page = 2; hasLinks ? next !== undefined : isFull(); page += 1) {
      if (page > maxPages) throw new ServerError(`the pages of ${request.path} do not end`);
      const path = next ?? withPage(request.path, page);
      const answer = await this.send({ ...request, path });
      rows = rowsOf(answer.body, list);
      all.push(...rows);
      next = nextLinkOf(answer.body);
    }
    return { ...first, body: { ...(first.body as object), [list]: all } };
  }

  /**
   * Deletes the subscriptions of the run's users whose https or http URL has a prefix, and waits
   * for the deletions. Tombstones remain, as the draft demands.
   *
   * @param since selects subscriptions that changed later.
   * @returns the number of subscriptions that the server did not delete.
   */
  async deleteFeeds(prefix: string, since: string): Promise<number> {
    let remaining = 0;
    for (const user of [1, 2] as const) {
      if (!this.hasUser(user)) continue;
      const path = `/subscriptions?since=${encodeURIComponent(since)}&per_page=100`;
      const { body } = await this.readAllPages({ method: 'GET', path, user }, 'subscriptions');
      const created = (rowsOf(body, 'subscriptions') as SubscriptionRow[]).filter(
        (row) => row.feed_url?.replace('http:', 'https:').startsWith(prefix) && !row.deleted,
      );
      const guids = [...new Set(created.map((row) => row.new_guid ?? row.guid ?? ''))];
      while (guids.length > 0) {
        const batch = guids.splice(0, maxParallelDeletions);
        const results = await Promise.all(batch.map((guid) => this.deleteFeed(guid, user)));
        remaining += results.filter((isDeleted) => !isDeleted).length;
      }
    }
    return remaining;
  }

  private async deleteFeed(guid: string, user: 1 | 2): Promise<boolean> {
    const answer = await this.send({ method: 'DELETE', path: `/subscriptions/${guid}`, user });
    if (answer.status === 404) return true;
    const { deletion_id: id } = answer.body as { deletion_id?: number };
    for (let attempt = 0; attempt < 50; attempt += 1) {
      const { body } = await this.send({ method: 'GET', path: `/deletions/${id}`, user });
      const { status } = body as { status?: string };
      if (status !== 'PENDING') return status === 'SUCCESS';
      await wait(20 * (attempt + 1));
    }
    return false;
  }

  private tokenOf(user: HttpRequest['user']): string | undefined {
    if (user === 'invalid') return 'not-a-token';
    return user === 'none' ? undefined : this.target.tokens[user - 1];
  }

  /** Returns the URL of a path or link. @throws ServerError for a link to another origin. */
  private urlOf(path: string): URL {
    const { base } = this.target;
    if (path.startsWith('/')) return new URL(`${base}${path}`);
    const url = new URL(path, base);
    if (url.origin === new URL(base).origin) return url;
    throw new ServerError(`the link ${path} has another origin than ${base}`);
  }
}

function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

/**
 * Returns the next `since`: `Sync-Timestamp`, else a second before `Date`, else a second before the
 * request. `Date` has whole seconds, so that a row can come twice, and none is missed.
 */
function nextSinceOf(headers: Headers, sent: number): string {
  const exact = headers.get('sync-timestamp');
  if (exact !== null) return exact;
  const date = Date.parse(headers.get('date') ?? '');
  return new Date((Number.isNaN(date) ? sent : date) - 1_000).toISOString();
}

function rowsOf(body: unknown, list: string): unknown[] {
  const rows = (body as Record<string, unknown> | undefined)?.[list];
  return Array.isArray(rows) ? [...(rows as unknown[])] : [];
}

function nextLinkOf(body: unknown): string | undefined {
  const next = (body as { next?: unknown } | undefined)?.next;
  return typeof next === 'string' ? next : undefined;
}

/** Returns the page size of an answer, or 1 without one, so that only an empty page is the last. */
function perPageOf(body: unknown): number {
  return Number((body as { per_page?: unknown } | undefined)?.per_page ?? 1);
}

function withPage(path: string, page: number): string {
  return `${path}${path.includes('?') ? '&' : '?'}page=${page}`;
}
