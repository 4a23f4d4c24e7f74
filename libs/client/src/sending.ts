import { ApiError, type ApiErrorCode } from './errors.js';

/** How an API is reached. */
export interface ApiOptions {
  /** Where the API is, such as `https://api.example.org`; a path (`/v1`) is kept. */
  baseUrl: string;
  /**
   * The current access token. Asked before every request, and once more after a 401, with the token that was refused:
   * then it should come from a refresh. Several requests that are refused at a time ask once.
   */
  token: (context?: { refused: string }) => string | Promise<string>;
  /** The platform's own unless given. */
  fetch?: typeof globalThis.fetch;
  /** Milliseconds since 1970, by the device. */
  clock?: () => number;
  /** How often what may pass is sent again: 4 times unless given, for about 10 seconds in all. */
  retries?: number;
  /** How long one attempt may take until its whole answer is there, in milliseconds: 30,000 unless given. */
  timeout?: number;
}

/** What may go with any call. */
export interface CallOptions {
  /** Ends the call, its retries included, with the code `aborted`, or `timeout` for that of `AbortSignal.timeout`. */
  signal?: AbortSignal | undefined;
}

/** A request, without what goes with every one. */
export interface Request extends CallOptions {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Below the base URL, with its query. */
  path: string;
  headers?: Record<string, string>;
  body?: string | undefined;
  /** The media type that a success has. */
  type: 'application/json' | 'text/x-opml' | 'text/event-stream';
}

/** Waits of retries, in milliseconds: full jitter below a ceiling that doubles. */
const wait = { first: 500, most: 8_000 };

/** A longer `Retry-After` is the caller's to wait for, in seconds. */
const longestRetryAfter = 30;

/** Sends requests with a token, again where that helps, and learns how far off the device's clock is. */
export class Sending {
  /** By how much the server's clock is ahead of the device's, in milliseconds; 0 until an answer has told. */
  clockOffset = 0;
  private renewal: { refused: string; token: Promise<string> } | undefined;
  private readonly baseUrl: string;
  private readonly fetch: typeof globalThis.fetch;
  private readonly clock: () => number;

  constructor(private readonly options: ApiOptions) {
    this.baseUrl = options.baseUrl.replace(/\/$/, '');
    // A browser's fetch insists on its own `this`.
    this.fetch = options.fetch ?? ((input, init) => globalThis.fetch(input, init));
    this.clock = options.clock ?? Date.now;
  }

  /**
   * Sends until there is an answer that no retry could change, and reads it.
   *
   * @throws ApiError
   */
  async send<T>(request: Request, read: (answer: Response) => Promise<T>): Promise<T> {
    const { retries = 4, timeout = 30_000 } = this.options;
    for (let retry = 0; ; retry++) {
      try {
        return await within(timeout, request.signal, async (signal) => {
          const answer = await this.open(request, signal);
          return await read(answer).catch(notReached);
        });
      } catch (error) {
        if (!(error instanceof ApiError) || !error.isPassing || retry >= retries || request.signal?.aborted)
          throw error;
        const { retryAfter = 0 } = error;
        if (retryAfter > longestRetryAfter) throw error;
        const ceiling = Math.min(wait.first * 2 ** retry, wait.most);
        await pause(retryAfter * 1_000 + Math.random() * ceiling, request.signal);
      }
    }
  }

  /**
   * One attempt; after a 401 another one with a new token. The answer's body is not read yet.
   *
   * @throws ApiError for every answer but a success and a 304.
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
    // Networks that want somebody to sign in answer anything with a page of theirs.
    throw new ApiError('unexpected', `Expected ${request.type}, got ${type || 'no type'}`, { status: answer.status });
  }

  /**
   * Opens a stream: the answer's body goes on until the connection is aborted.
   *
   * @param limit how long that may take, in milliseconds.
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
      // What a caller wants to keep of a listener's data it keeps itself, and the token goes nowhere else. (Not all
      // platforms' types know `cache`.)
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
   * `Date` is cut to the second, and servers keep it for about another one; the answer was made at some time of the round
   * trip. A clock that is no further off is taken for right, so that devices whose clocks are agree to the millisecond.
   */
  private learnClock(answer: Response, started: number): void {
    const date = Date.parse(answer.headers.get('date') ?? '');
    if (Number.isNaN(date)) return;
    const now = this.clock();
    const offset = date + 500 - (started + now) / 2;
    const doubt = 2_000 + Math.abs(now - started) / 2;
    // A clock that is put right is behind the server's rather than ahead: a change is never later than it was made.
    if (Math.abs(offset - this.clockOffset) > doubt) this.clockOffset = Math.abs(offset) > doubt ? date - now : 0;
  }

  /** A token after one was refused. Whoever has the same one refused meanwhile shares it, and who comes late takes it. */
  private async renewed(refused: string): Promise<string> {
    if (this.renewal?.refused !== refused) this.renewal = { refused, token: this.newToken(refused) };
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
 * Runs something for a time at most.
 *
 * @param outer ends it earlier.
 * @throws ApiError `timeout` or `aborted`, where that is why it failed.
 */
export async function within<T>(
  milliseconds: number,
  outer: AbortSignal | undefined,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  if (outer?.aborted) throw abortError(outer);
  const inner = new AbortController();
  let end = (_why: ApiError) => {};
  // What runs may not look at its signal, such as the caller's own source of tokens.
  const ended = new Promise<never>((_resolve, reject) => {
    end = (why) => {
      reject(why);
      inner.abort();
    };
  });
  const timer = setTimeout(() => end(new ApiError('timeout', `No answer within ${milliseconds} ms`)), milliseconds);
  const abort = () => outer && end(abortError(outer));
  outer?.addEventListener('abort', abort);
  try {
    return await Promise.race([ended, run(inner.signal)]);
  } finally {
    clearTimeout(timer);
    outer?.removeEventListener('abort', abort);
  }
}

/** Waits, unless the signal ends it. @throws ApiError of {@link abortError} */
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

/** The error of a call that its signal ended. */
function abortError(signal: AbortSignal): ApiError {
  const isLate = (signal.reason as { name?: unknown } | undefined)?.name === 'TimeoutError';
  return new ApiError(isLate ? 'timeout' : 'aborted', isLate ? 'The deadline has passed' : 'The call was aborted', {
    cause: signal.reason,
  });
}

/** What `fetch` and the reading of a body throw is a failure of the network. @throws ApiError */
export function notReached(error: unknown): never {
  if (error instanceof ApiError) throw error;
  throw new ApiError('network', 'The server was not reached', { cause: error });
}

/** A token that may not do this is refused however often it is renewed. */
function lacksScope(answer: Response): boolean {
  return (answer.headers.get('www-authenticate') ?? '').includes('insufficient_scope');
}

/** What only the server itself can say of a request: a change that is refused so is never sent again. */
const verdicts: ReadonlySet<ApiErrorCode> = new Set(['not_found', 'invalid', 'deleted', 'too_large']);

/** Returns the error of an answer. A verdict without the interface's error body is that of a proxy. */
async function errorOf(answer: Response): Promise<ApiError> {
  const { status } = answer;
  const error = ApiError.of(answer);
  if (!verdicts.has(error.code)) {
    await discard(answer);
    return error;
  }
  const body: unknown = await answer.json().catch(() => undefined);
  const isOurs = (body as { code?: unknown } | null | undefined)?.code === String(status);
  return isOurs ? error : new ApiError('unexpected', `Something in front of the server answered ${status}`, { status });
}

/** Lets the connection be used again. */
async function discard(answer: Response): Promise<void> {
  await answer.body?.cancel().catch(() => {});
}
