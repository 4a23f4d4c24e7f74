/**
 * Why a call failed; the list is closed.
 *
 * - `unauthorized`: 401 and 403, also with a new token; the person has to sign in, or to allow more
 * - `not_found`: 404, no such subscription, deletion or operation
 * - `invalid`: 400, 405, what was sent can't be used; nothing was applied
 * - `deleted`: 410, the subscription has been deleted
 * - `too_large`: 413, 414, 431, more than a request may have
 * - `too_many`: 429, over a limit of requests
 * - `unavailable`: 5xx, the server is away, overloaded or has a fault of its own
 * - `timeout`: no answer in time
 * - `aborted`: the caller's signal was aborted
 * - `network`: the server was not reached
 * - `unexpected`: an answer that is not the server's, such as a hotel's sign-in page or a 404 of a proxy
 */
export type ApiErrorCode =
  | 'unauthorized'
  | 'not_found'
  | 'invalid'
  | 'deleted'
  | 'too_large'
  | 'too_many'
  | 'unavailable'
  | 'timeout'
  | 'aborted'
  | 'network'
  | 'unexpected';

const codes: Readonly<Record<number, ApiErrorCode>> = {
  400: 'invalid',
  401: 'unauthorized',
  403: 'unauthorized',
  404: 'not_found',
  405: 'invalid',
  408: 'timeout',
  410: 'deleted',
  413: 'too_large',
  414: 'too_large',
  429: 'too_many',
  431: 'too_large',
  501: 'unexpected',
};

/** What may come out otherwise when the same is sent again. */
const passing: ReadonlySet<ApiErrorCode> = new Set(['network', 'timeout', 'too_many', 'unavailable']);

/** A call that failed, after all retries that could help. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly code: ApiErrorCode;
  /** The status of the answer, where there was one. */
  readonly status: number | undefined;
  /** After how many seconds the server asks to come again. */
  readonly retryAfter: number | undefined;

  constructor(
    code: ApiErrorCode,
    message: string,
    parts: { status?: number | undefined; retryAfter?: number | undefined; cause?: unknown } = {},
  ) {
    super(message, { cause: parts.cause });
    this.code = code;
    this.status = parts.status;
    this.retryAfter = parts.retryAfter;
  }

  /** The error of an answer that is not a success. */
  static of(answer: Response): ApiError {
    const { status } = answer;
    const seconds = Number(answer.headers.get('retry-after') ?? Number.NaN);
    const retryAfter = seconds >= 0 ? seconds : undefined;
    return new ApiError(
      codes[status] ?? (status >= 500 ? 'unavailable' : 'unexpected'),
      `The server answered ${status}`,
      { status, retryAfter },
    );
  }

  /** Whether the same call may succeed later, with nothing changed. */
  get isPassing(): boolean {
    return passing.has(this.code);
  }
}
