import { ApiError, type ApiErrorCode } from './errors.js';

/** Connection to an API. */
export interface ApiOptions {
  /** Base URL of the API, such as `https://api.example.org`. A path (`/v1`) is kept. */
  baseUrl: string;
  /**
   * Returns the current access token. It is called before each request, and again after a 401 with
   * the rejected token: then it should refresh. Concurrent rejected requests share one call.
   */
  token: (context?: { refused: string }) => string | Promise<string>;
  /** Default: the platform's `fetch`. */
  fetch?: typeof globalThis.fetch;
  /** Device time in milliseconds since 1970. */
  clock?: () => number;
  /** Most retries after transient errors. Default: 4, about 10 s in all. */
  retries?: number;
  /** Time limit of one attempt, including the whole response, in milliseconds. Default: 30,000. */
  timeout?: number;
}

/** Options of every call. */
export interface CallOptions {
  /** Ends the call with its retries: code `aborted`, or `timeout` for `AbortSignal.timeout`. */
  signal?: AbortSignal | undefined;
}

/** A request without the headers that all requests share. */
export interface Request extends CallOptions {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Path below the base URL, with its query. */
  path: string;
  headers?: Record<string, string>;
  body?: string | undefined;
  type: 'application/json' | 'text/x-opml' | 'text/event-stream';
}

/** Backoff of retries, in milliseconds: full jitter below a ceiling that doubles. */
const wait = { first: 500, most: 8_000 };

/** Longest `Retry-After` in seconds that is retried here. Longer waits are up to the caller. */
const longestRetryAfter = 30;

/** Sends requests with a token, retries transient errors and estimates the clock offset. */
export class Sending {
  /** Milliseconds by which the server's clock is ahead of the device's. Initially 0. */
  clockOffset = 0;
  private renewal: { refused: string; token: Promise<string> } | undefined;
  private readonly baseUrl: string;
  private readonly fetch: typeof globalThis.fetch;
  private readonly clock: () => number;

  constructor(private readonly options: ApiOptions) {
    this.baseUrl = options.baseUrl.replace(/\/$/, '');
    // A browser's fetch requires its own `this`.
    this.fetch = options.fetch ?? ((input, init) => globalThis.fetch(input, init));
    this.clock = options.clock ?? Date.now;
  }

  /** Sends a request, retries transient errors and reads the response. @throws ApiError */
  async send<T>(request: Request, read: (answer: Response) => Promise<T>): Promise<T> {
    const { retries = 4, timeout = 30_000 } = this.options;
    for (let retry = 0; ; retry++) {
      try {
        return await within(timeout, request.signal, async (signal) => {
          const answer = await this.open(request, signal);
          return await read(answer).catch(notReached);
        });
      } catch (error) {
        if (
          !(error instanceof ApiError) ||
          !error.isPassing ||
          retry >= retries ||
          request.signal?.aborted
        )
          throw error;
        const { retryAfter = 0 } = error;
        if (retryAfter > longestRetryAfter) throw error;
        const ceiling = Math.min(wait.first * 2 ** retry, wait.most);
        await pause(retryAfter * 1_000 + Math.random() * ceiling, request.signal);
      }
    }
  }

  /**
   * Makes one attempt, and a second one with a new token after a 401. The body is not read yet.
   *
   * @throws ApiError for every response but a success and a 304.
   */
  async open(request: Request, signal: AbortSignal): Promise<Response> {
    const token = await this.options.token();
    let answer = await this.attempt(request, signal, token);
    if (answer.status === 401 && !lacksScope(answer)) {
      await discard(answer);
      const renewed = await this.renewed(token);
      if (renewed === token) throw ApiError.of(answer);
      answer = await this.attempt(request, signal, renewed);
    }
    if (answer.status === 304 && request.headers?.['if-none-match'] !== undefined) return answer;
    if (!answer.ok) throw await errorOf(answer);
    const type = answer.headers.get('content-type') ?? '';
    if (type.startsWith(request.type)) return answer;
    await discard(answer);
    // A captive portal answers any request with its own page.
    throw new ApiError('unexpected', `Expected ${request.type}, got ${type || 'no type'}`, {
      status: answer.status,
    });
  }

  /**
   * Opens a stream. The body continues until the connection is aborted.
   *
   * @param limit time for opening, in milliseconds.
   * @throws ApiError as {@link open}
   */
  async opened(request: Request, connection: AbortController, limit: number): Promise<Response> {
    try {
      return await within(limit, request.signal, () => this.open(request, connection.signal));
    } catch (error) {
      connection.abort();
      throw error;
    }
  }

  private async attempt(request: Request, signal: AbortSignal, token: string): Promise<Response> {
    const started = this.clock();
    const answer = await this.fetch(`${this.baseUrl}${request.path}`, {
      method: request.method,
      headers: { accept: request.type, ...request.headers, authorization: `Bearer ${token}` },
      // Callers store a listener's data themselves, and redirects must not receive the token. The
      // cast is needed, as not all platforms' types have `cache`.
      ...({ cache: 'no-store' } as object),
      credentials: 'omit',
      redirect: 'manual',
      signal,
      ...(request.body !== undefined && { body: request.body }),
    }).catch(notReached);
    this.learnClock(answer, started);
    return answer;
  }

  /**
   * Updates the clock offset from a response. `Date` has whole seconds, and servers cache it for
   * about one more; the response was made at some time of the round trip. A clock within this error
   * counts as right, so that correct devices agree to the millisecond.
   */
  private learnClock(answer: Response, started: number): void {
    const date = Date.parse(answer.headers.get('date') ?? '');
    if (Number.isNaN(date)) return;
    const now = this.clock();
    const offset = date + 500 - (started + now) / 2;
    const doubt = 2_000 + Math.abs(now - started) / 2;
    // A corrected clock runs behind the server's rather than ahead: no change is in the future.
    if (Math.abs(offset - this.clockOffset) > doubt)
      this.clockOffset = Math.abs(offset) > doubt ? date - now : 0;
  }

  /** Returns a token after one was rejected. Concurrent rejections share one renewal. */
  private async renewed(refused: string): Promise<string> {
    if (this.renewal?.refused !== refused)
      this.renewal = { refused, token: this.newToken(refused) };
    const { renewal } = this;
    try {
      return await renewal.token;
    } finally {
      if (this.renewal === renewal) this.renewal = undefined;
    }
  }

  private async newToken(refused: string): Promise<string> {
    const current = await this.options.token();
    return current === refused ? this.options.token({ refused }) : current;
  }
}

/**
 * Runs a function with a time limit.
 *
 * @param outer aborts it earlier.
 * @throws ApiError `timeout` or `aborted` after the time limit or the abort.
 */
export async function within<T>(
  milliseconds: number,
  outer: AbortSignal | undefined,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  if (outer?.aborted) throw abortError(outer);
  const inner = new AbortController();
  let end = (_why: ApiError) => {};
  // The function can ignore its signal, such as the caller's own token source.
  const ended = new Promise<never>((_resolve, reject) => {
    end = (why) => {
      reject(why);
      inner.abort();
    };
  });
  const timer = setTimeout(
    () => end(new ApiError('timeout', `No answer within ${milliseconds} ms`)),
    milliseconds,
  );
  const abort = () => outer && end(abortError(outer));
  outer?.addEventListener('abort', abort);
  try {
    return await Promise.race([ended, run(inner.signal)]);
  } finally {
    clearTimeout(timer);
    outer?.removeEventListener('abort', abort);
  }
}

/** Waits for a time. @throws ApiError of {@link abortError} if the signal aborts it. */
export function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(abortError(signal));
    const abort = () => {
      clearTimeout(timer);
      if (signal) reject(abortError(signal));
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    }, milliseconds);
    signal?.addEventListener('abort', abort, { once: true });
  });
}

function abortError(signal: AbortSignal): ApiError {
  const isLate = (signal.reason as { name?: unknown } | undefined)?.name === 'TimeoutError';
  return new ApiError(
    isLate ? 'timeout' : 'aborted',
    isLate ? 'The deadline has passed' : 'The call was aborted',
    {
      cause: signal.reason,
    },
  );
}

/** Turns an error of `fetch` or of reading a body into a network failure. @throws ApiError */
export function notReached(error: unknown): never {
  if (error instanceof ApiError) throw error;
  throw new ApiError('network', 'The server was not reached', { cause: error });
}

/** Returns true if the token lacks a scope. A new token does not help. */
function lacksScope(answer: Response): boolean {
  return (answer.headers.get('www-authenticate') ?? '').includes('insufficient_scope');
}

/** Codes that only the server itself can decide: a change rejected with one is never sent again. */
const verdicts: ReadonlySet<ApiErrorCode> = new Set([
  'not_found',
  'invalid',
  'deleted',
  'too_large',
]);

/** Returns the error of a response. Without the interface's error body it comes from a proxy. */
async function errorOf(answer: Response): Promise<ApiError> {
  const { status } = answer;
  const error = ApiError.of(answer);
  if (!verdicts.has(error.code)) {
    await discard(answer);
    return error;
  }
  const body: unknown = await answer.json().catch(() => undefined);
  const isOurs = (body as { code?: unknown } | null | undefined)?.code === String(status);
  return isOurs
    ? error
    : new ApiError('unexpected', `Something in front of the server answered ${status}`, { status });
}

/** Cancels the body, which frees the connection. */
async function discard(answer: Response): Promise<void> {
  await answer.body?.cancel().catch(() => {});
}
