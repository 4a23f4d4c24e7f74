/**
 * The reason why a fetch failed:
 * - `refused`: the URL or an address of its host is not allowed. No packet was sent there.
 * - `unresolved`: the name has no address, or DNS did not answer.
 * - `unreachable`: no connection, no TLS, or no HTTP response.
 * - `timeout`: a time limit expired.
 * - `redirects`: too many redirects, or a loop.
 * - `too_large`: more bytes than allowed, as sent or after decompression.
 * - `broken`: the body ended early or does not match `Content-Encoding`.
 */
export type FetchFault =
  'refused' | 'unresolved' | 'unreachable' | 'timeout' | 'redirects' | 'too_large' | 'broken';

/** A failed fetch. The message contains the host, but no other part of a URL. */
export class FetchError extends Error {
  constructor(
    readonly fault: FetchFault,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = 'FetchError';
  }
}

/** Faults by the error codes of undici. */
const faultsByCode: Readonly<Record<string, FetchFault>> = {
  UND_ERR_CONNECT_TIMEOUT: 'timeout',
  UND_ERR_HEADERS_TIMEOUT: 'timeout',
  UND_ERR_BODY_TIMEOUT: 'timeout',
  UND_ERR_HEADERS_OVERFLOW: 'too_large',
  UND_ERR_RES_EXCEEDED_MAX_SIZE: 'too_large',
};

/**
 * Returns an error of the HTTP client as a FetchError.
 *
 * @param defaultFault the fault for error codes that are not in {@link faultsByCode}.
 */
export function toFetchError(error: unknown, host: string, defaultFault: FetchFault): FetchError {
  if (error instanceof FetchError) return error;
  const { code = '', name, message } = error as Error & { code?: string };
  const fault = name === 'TimeoutError' ? 'timeout' : (faultsByCode[code] ?? defaultFault);
  return new FetchError(fault, `${host}: ${message || code}`, { cause: error });
}
