import { ApiError } from './errors.js';
import { parseJson, throwNetworkError, withTimeLimit } from './request-sender.js';

/** An OAuth error response of the issuer (RFC 6749, 5.2; RFC 8628, 3.5). */
export class OAuthError extends Error {
  override readonly name = 'OAuthError';

  constructor(
    /** Error code such as `access_denied` or `expired_token`. */
    readonly error: string,
    message: string,
  ) {
    super(message);
  }
}

/** Metadata of an issuer (RFC 8414), and the API that its tokens are for. */
export interface Issuer {
  /** URL of the API, sent as `resource` with each authorization request (RFC 8707). */
  resource: string;
  issuer: string;
  authorization_endpoint: string;
  token_endpoint: string;
  registration_endpoint?: string;
  device_authorization_endpoint?: string;
  revocation_endpoint?: string;
}

/** Time limit for one request, in milliseconds. */
const requestTimeLimit = 15_000;

/** Matches addresses of local networks, and names that nobody can register on the internet. */
const localHostPattern =
  /^[^.:]+$|\.(?:local(?:host)?|lan|internal|home\.arpa)$|^1(?:0|27|92\.168|72\.(?:1[6-9]|2\d|3[01])|00\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7]))\.[\d.]+$|^\[(?:::1\]|f[cd])/;

/**
 * Returns the issuer whose tokens an API accepts (RFC 9728, RFC 8414).
 *
 * @throws ApiError, also if the metadata names an API at another host (RFC 9728, 3.3), because the
 *   app would send tokens for that API to this one. Local addresses are exempt, because a server
 *   names its PUBLIC_URL at all its addresses.
 */
export async function discoverIssuer(
  fetch: typeof globalThis.fetch,
  apiUrl: string,
): Promise<Issuer> {
  const baseUrl = new URL(apiUrl);
  const apiMetadata = await requestJson<{ resource: string; authorization_servers?: string[] }>(
    fetch,
    buildWellKnownUrl(baseUrl, 'oauth-protected-resource'),
  );
  const [issuer] = apiMetadata.authorization_servers ?? [];
  const isSameHost = new URL(apiMetadata.resource, baseUrl).host === baseUrl.host;
  if (issuer === undefined || !(isSameHost || localHostPattern.test(baseUrl.hostname)))
    throw new ApiError(
      'unexpected',
      `The metadata of ${apiUrl} names no issuer, or another API: ${apiMetadata.resource}`,
    );
  const metadata = await requestJson<Issuer>(
    fetch,
    buildWellKnownUrl(new URL(issuer), 'oauth-authorization-server'),
  );
  // The endpoints receive secrets, so they need TLS unless the API itself is on plain http.
  const areEndpointsSecure = Object.entries(metadata).every(
    ([name, url]) =>
      !name.endsWith('_endpoint') || url.startsWith('https:') || baseUrl.protocol === 'http:',
  );
  if (metadata.issuer !== issuer || !areEndpointsSecure)
    throw new ApiError(
      'unexpected',
      `The metadata of ${issuer} names another issuer, or an insecure endpoint`,
    );
  return { ...metadata, resource: apiMetadata.resource };
}

/** Registers an app (RFC 7591). @returns the client id. @throws ApiError, OAuthError */
export async function registerClient(
  fetch: typeof globalThis.fetch,
  issuer: Issuer,
  metadata: object,
): Promise<string> {
  if (issuer.registration_endpoint === undefined)
    throw new ApiError(
      'unexpected',
      'The server does not support client registration: set clientId',
    );
  const body = JSON.stringify({ token_endpoint_auth_method: 'none', ...metadata });
  const { client_id } = await requestJson<{ client_id: string }>(
    fetch,
    issuer.registration_endpoint,
    { type: 'application/json', body },
  );
  return client_id;
}

/** Posts a form and returns the JSON response. @throws ApiError, OAuthError */
export function postForm<T>(
  fetch: typeof globalThis.fetch,
  url: string,
  form: Record<string, string>,
): Promise<T> {
  const body = new URLSearchParams(form).toString();
  return requestJson<T>(fetch, url, { type: 'application/x-www-form-urlencoded', body });
}

/**
 * Returns the URL of a well-known document of `url`. The path of `url` follows the document's name
 * (RFC 8414, 3.1).
 */
function buildWellKnownUrl(url: URL, document: string): string {
  return `${url.origin}/.well-known/${document}${url.pathname.replace(/\/$/, '')}`;
}

/**
 * Sends a request to the issuer and returns the JSON response.
 *
 * @param content the body of a POST request. Without it, the request is a GET.
 * @throws ApiError, OAuthError
 */
async function requestJson<T>(
  fetch: typeof globalThis.fetch,
  url: string,
  content?: { type: string; body: string },
): Promise<T> {
  return withTimeLimit(requestTimeLimit, undefined, async (signal) => {
    const response = await fetch(url, {
      headers: {
        accept: 'application/json',
        ...(content && { 'content-type': content.type }),
      },
      ...(content && { method: 'POST', body: content.body }),
      signal,
      redirect: 'manual',
      credentials: 'omit',
    }).catch(throwNetworkError);
    const text = await response.text().catch(throwNetworkError);
    const body = parseJson(text);
    if (response.ok && (body !== undefined || text === '')) return body as T;
    const { error, error_description: message } = (body ?? {}) as {
      error?: string;
      error_description?: string;
    };
    const { status } = response;
    const isTransient = status >= 500 || status === 429 || error === 'temporarily_unavailable';
    if (error !== undefined && !isTransient) throw new OAuthError(error, message ?? error);
    if (response.ok)
      throw new ApiError('unexpected', `The response of ${url} is not JSON`, { status });
    throw ApiError.fromResponse(response);
  });
}
