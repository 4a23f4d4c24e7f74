import { ApiError, type ApiErrorCode } from './errors.js';

/** Options of a connection to an API. */
export interface ApiOptions {
  /** Base URL of the API, with its path: `https://api.example.org/v1`. */
  baseUrl: string;
  /**
   * Returns the current access token. The SDK calls the function before each request. After a 401,
   * the SDK passes the rejected token to get a new one. Concurrent requests with the same rejected
   * token share this call.
   */
  token: (context?: { rejected: string }) => string | Promise<string>;
  /** Default: the platform's `fetch`. */
  fetch?: typeof globalThis.fetch;
  /** Returns the device's time in milliseconds since 1970. Default: `Date.now`. */
  clock?: () => number;
  /** Maximum number of retries after transient errors. Default: 4, about 10 s in total. */
  retries?: number;
  /** Time limit of each try, including the whole response, in milliseconds. Default: 30,000. */
  timeout?: number;
}

/** Options of every call. */
export interface CallOptions {
  /** Aborts the call and its retries: code `aborted`, or `timeout` for `AbortSignal.timeout`. */
  signal?: AbortSignal | undefined;
}

/** A request without the headers that all requests share. */
export interface Request extends CallOptions {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Path below the base URL, with its query. */
  path: string;
  headers?: Record<string, string>;
  body?: string | undefined;
  /** Media type of the response. Default: JSON. */
  type?: 'text/x-opml' | 'text/event-stream';
}

const jsonType = 'application/json';

/** Maximum of the random delay before a retry, in ms. It doubles from `first` up to `max`. */
const backoff = { first: 500, max: 8_000 };

/** Maximum `Retry-After` in seconds. A call with a longer one fails without a retry. */
const maxRetryAfter = 30;

/** Sends requests with a token, retries transient errors and estimates the clock offset. */
export class RequestSender {
  /** Milliseconds by which the server's clock is ahead of the device's. Initially 0. */
  clockOffset = 0;
  #tokenRenewal: { rejected: string; token: Promise<string> } | undefined;
  private readonly baseUrl: string;
  private readonly fetch: typeof globalThis.fetch;
  private readonly now: () => number;

  constructor(private readonly options: ApiOptions) {
    this.baseUrl = options.baseUrl.replace(/\/$/, '');
    // Wraps `fetch`, because a browser's `fetch` fails as a method of another object.
    this.fetch = options.fetch ?? ((input, init) => globalThis.fetch(input, init));
    this.now = options.clock ?? Date.now;
  }

  /** Sends a request, retries transient errors and reads the response. @throws ApiError */
  async sendAndRead<T>(request: Request, read: (response: Response) => Promise<T>): Promise<T> {
    const { retries = 4, timeout = 30_000 } = this.options;
    for (let retry = 0; ; retry++) {
      try {
        return await withTimeLimit(timeout, request.signal, async (signal) => {
          const response = await this.open(request, signal);
          return await read(response).catch(throwNetworkError);
        });
      } catch (error) {
        if (
          !(error instanceof ApiError) ||
          !error.isTransient ||
          retry >= retries ||
          request.signal?.aborted
        )
          throw error;
        const { retryAfter = 0 } = error;
        if (retryAfter > maxRetryAfter) throw error;
        const ceiling = Math.min(backoff.first * 2 ** retry, backoff.max);
        await pause(retryAfter * 1_000 + Math.random() * ceiling, request.signal);
      }
    }
  }

  /**
   * Returns the response of a request, with an unread body. After a 401 it sends the request again
   * with a new token.
   *
   * @throws ApiError for an error status or an unexpected content type. A 304 is no error if the
   *   request has `if-none-match`.
   */
  async open(request: Request, signal: AbortSignal): Promise<Response> {
    const token = await this.options.token();
    let response = await this.#fetchOnce(request, signal, token);
    if (response.status === 401 && !lacksScope(response)) {
      await cancelBody(response);
      const renewed = await this.#renewToken(token);
      if (renewed === token) throw ApiError.fromResponse(response);
      response = await this.#fetchOnce(request, signal, renewed);
    }
    if (response.status === 304 && request.headers?.['if-none-match'] !== undefined)
      return response;
    if (!response.ok) throw await readError(response);
    const type = response.headers.get('content-type') ?? '';
    const { type: accepted = jsonType } = request;
    if (type.startsWith(accepted)) return response;
    await cancelBody(response);
    // Rejects other content types, because a captive portal answers any request with its own page.
    const message = `The response is ${type || 'untyped'} instead of ${accepted}`;
    throw new ApiError('unexpected', message, { status: response.status });
  }

  async #fetchOnce(request: Request, signal: AbortSignal, token: string): Promise<Response> {
    const startTime = this.now();
    const response = await this.fetch(`${this.baseUrl}${request.path}`, {
      method: request.method,
      headers: {
        accept: request.type ?? jsonType,
        ...request.headers,
        authorization: `Bearer ${token}`,
      },
      // No HTTP cache, because callers store the data. No redirects, because another host must not
      // receive the token. The cast is needed, because some platforms' types lack `cache`.
      ...({ cache: 'no-store' } as object),
      credentials: 'omit',
      redirect: 'manual',
      signal,
      ...(request.body !== undefined && { body: request.body }),
    }).catch(throwNetworkError);
    this.#updateClockOffset(response, startTime);
    return response;
  }

  /**
   * Estimates the clock offset from the `Date` header of a response. The header has whole seconds,
   * can be a second old and was set at an unknown time within the round trip. An offset within this
   * tolerance counts as 0, because devices with correct clocks must not shift their times.
   */
  #updateClockOffset(response: Response, startTime: number): void {
    const date = Date.parse(response.headers.get('date') ?? '');
    if (Number.isNaN(date)) return;
    const now = this.now();
    const offset = date + 500 - (startTime + now) / 2;
    const tolerance = 2_000 + Math.abs(now - startTime) / 2;
    // Omits the 500 ms. A corrected clock is then never ahead of the server's clock.
    if (Math.abs(offset - this.clockOffset) > tolerance)
      this.clockOffset = Math.abs(offset) > tolerance ? date - now : 0;
  }

  /** Returns a token that replaces a rejected one. Concurrent rejections share one renewal. */
  async #renewToken(rejected: string): Promise<string> {
    const renew = async () => {
      const current = await this.options.token();
      return current === rejected ? this.options.token({ rejected }) : current;
    };
    if (this.#tokenRenewal?.rejected !== rejected)
      this.#tokenRenewal = { rejected, token: renew() };
    const renewal = this.#tokenRenewal;
    try {
      return await renewal.token;
    } finally {
      if (this.#tokenRenewal === renewal) this.#tokenRenewal = undefined;
    }
  }
}

/**
 * Runs a function with a time limit. At the limit, aborts the signal of the function.
 *
 * @param callerSignal aborts the function before the limit.
 * @throws ApiError `timeout` or `aborted` after the time limit or the abort.
 */
export async function withTimeLimit<T>(
  milliseconds: number,
  callerSignal: AbortSignal | undefined,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  if (callerSignal?.aborted) throw createAbortError(callerSignal);
  const controller = new AbortController();
  let rejectRun = (_reason: ApiError) => {};
  // Rejects even if `run` ignores its signal, as the app's `token` function can.
  const rejection = new Promise<never>((_resolve, reject) => {
    rejectRun = (reason) => {
      reject(reason);
      controller.abort();
    };
  });
  const timer = setTimeout(
    () => rejectRun(new ApiError('timeout', 'The time limit passed')),
    milliseconds,
  );
  const abort = () => callerSignal && rejectRun(createAbortError(callerSignal));
  callerSignal?.addEventListener('abort', abort);
  try {
    return await Promise.race([rejection, run(controller.signal)]);
  } finally {
    clearTimeout(timer);
    callerSignal?.removeEventListener('abort', abort);
  }
}

/** Waits some milliseconds. @throws ApiError `aborted` or `timeout` if the signal is aborted. */
export function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(createAbortError(signal));
    const abort = () => {
      clearTimeout(timer);
      if (signal) reject(createAbortError(signal));
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    }, milliseconds);
    signal?.addEventListener('abort', abort, { once: true });
  });
}

function createAbortError(signal: AbortSignal): ApiError {
  const isTimeout = (signal.reason as { name?: unknown } | undefined)?.name === 'TimeoutError';
  return new ApiError(
    isTimeout ? 'timeout' : 'aborted',
    isTimeout ? 'The time limit passed' : 'The caller aborted the call',
    { cause: signal.reason },
  );
}

/** Throws an ApiError `network` for an error of `fetch` or of a body. Rethrows an ApiError. */
export function throwNetworkError(error: unknown): never {
  if (error instanceof ApiError) throw error;
  throw new ApiError('network', 'The server is unreachable', { cause: error });
}

/** Returns true if the token lacks a scope (RFC 6750, 3.1), as a renewed token would. */
function lacksScope(response: Response): boolean {
  return (response.headers.get('www-authenticate') ?? '').includes('insufficient_scope');
}

/** Codes of permanent rejections by the API. {@link readError} excludes responses of proxies. */
export const permanentCodes: ReadonlySet<ApiErrorCode> = new Set([
  'not_found',
  'invalid',
  'deleted',
  'too_large',
]);

/**
 * Returns the error of a response. A permanent error without the API's error body comes from a
 * proxy and becomes `unexpected`.
 */
async function readError(response: Response): Promise<ApiError> {
  const { status } = response;
  const error = ApiError.fromResponse(response);
  if (!permanentCodes.has(error.code)) {
    await cancelBody(response);
    return error;
  }
  const body: unknown = await response.json().catch(() => undefined);
  const isFromServer = (body as { code?: unknown } | null | undefined)?.code === String(status);
  return isFromServer
    ? error
    : new ApiError('unexpected', `Another server answered HTTP ${status}`, { status });
}

/** Cancels the body of a response to free its connection. */
async function cancelBody(response: Response): Promise<void> {
  await response.body?.cancel().catch(() => {});
}

/** Returns the value of a JSON text, or `undefined` for any other text. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
