/**
 * Reasons of a failed call. Adding a code is a breaking change.
 *
 * - `unauthorized`: 401 or 403, also with a new token; the user has to sign in or grant more access
 * - `not_found`: 404, no such subscription, deletion or operation
 * - `invalid`: 400 or 405, the request is invalid and had no effect
 * - `deleted`: 410, the subscription has been deleted
 * - `too_large`: 413, 414 or 431, the request exceeds a size limit
 * - `too_many`: 429, rate limit exceeded
 * - `unavailable`: 5xx except 501, the server is unavailable, overloaded or faulty
 * - `timeout`: 408, or no response in time
 * - `aborted`: the caller's signal was aborted
 * - `network`: the server is unreachable
 * - `unexpected`: the response is not from the API, such as a captive portal or a 404 of a proxy,
 *   or the server lacks the feature that the message names
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

const codesByStatus: Readonly<Record<number, ApiErrorCode>> = {
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

/** Codes of transient errors: a later retry of the same request can succeed. */
const transientCodes: ReadonlySet<ApiErrorCode> = new Set([
  'network',
  'timeout',
  'too_many',
  'unavailable',
]);

/** The error of a failed call, after its retries. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly code: ApiErrorCode;
  /** HTTP status of the response; undefined without a response. */
  readonly status: number | undefined;
  /** Seconds in the `Retry-After` header of the response; undefined without one or for a date. */
  readonly retryAfter: number | undefined;

  constructor(
    code: ApiErrorCode,
    message: string,
    details: { status?: number | undefined; retryAfter?: number | undefined; cause?: unknown } = {},
  ) {
    super(message, { cause: details.cause });
    this.code = code;
    this.status = details.status;
    this.retryAfter = details.retryAfter;
  }

  /** Maps the status of a response to an ApiError. */
  static fromResponse({ status, headers }: Response): ApiError {
    const seconds = Number(headers.get('retry-after') ?? Number.NaN);
    const retryAfter = seconds >= 0 ? seconds : undefined;
    return new ApiError(
      codesByStatus[status] ?? (status >= 500 ? 'unavailable' : 'unexpected'),
      `The server answered HTTP ${status}`,
      { status, retryAfter },
    );
  }

  /** Returns true if a later retry of the same call can succeed. */
  get isTransient(): boolean {
    return transientCodes.has(this.code);
  }
}
