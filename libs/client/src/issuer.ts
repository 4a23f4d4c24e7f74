import { ApiError } from './errors.js';
import { notReached, within } from './sending.js';

/** An error response of the issuer, with its code (RFC 6749, 5.2; RFC 8628, 3.5). */
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

/** Endpoints of an issuer (RFC 8414), and the API that its tokens are for. */
export interface Issuer {
  resource: string;
  issuer: string;
  authorization_endpoint: string;
  token_endpoint: string;
  registration_endpoint?: string;
  device_authorization_endpoint?: string;
  revocation_endpoint?: string;
}

/** Time limit for one request, in milliseconds. */
const limit = 15_000;

/** Returns the issuer whose tokens an API accepts (RFC 9728, RFC 8414). @throws ApiError */
export async function discover(fetch: typeof globalThis.fetch, api: string): Promise<Issuer> {
  const base = new URL(api);
  const metadata = await json<{ resource: string; authorization_servers?: string[] }>(
    fetch,
    wellKnown(base, 'oauth-protected-resource'),
  );
  const [issuer] = metadata.authorization_servers ?? [];
  if (issuer === undefined)
    throw new ApiError('unexpected', 'The API does not say where people sign in');
  const found = await json<Issuer>(fetch, wellKnown(new URL(issuer), 'oauth-authorization-server'));
  // Secrets go to these endpoints: the issuer must match, and be as secure as the API.
  const endpoints = [found.authorization_endpoint, found.token_endpoint];
  const isSafe = endpoints.every((url) => url?.startsWith('https:') || base.protocol === 'http:');
  if (found.issuer !== issuer || !isSafe)
    throw new ApiError('unexpected', `${issuer} is not a safe place to sign in`);
  return { ...found, resource: metadata.resource };
}

/** Registers an app (RFC 7591). @returns its client id. @throws ApiError, OAuthError */
export async function register(
  fetch: typeof globalThis.fetch,
  issuer: Issuer,
  metadata: object,
): Promise<string> {
  if (issuer.registration_endpoint === undefined)
    throw new ApiError('unexpected', 'The server registers no apps');
  const body = JSON.stringify({ token_endpoint_auth_method: 'none', ...metadata });
  const headers = { 'content-type': 'application/json' };
  const answer = await json<{ client_id: string }>(fetch, issuer.registration_endpoint, {
    method: 'POST',
    body,
    headers,
  });
  return answer.client_id;
}

/** Posts a form and returns the JSON response. @throws ApiError, OAuthError */
export function post<T>(
  fetch: typeof globalThis.fetch,
  url: string,
  form: Record<string, string>,
): Promise<T> {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  return json<T>(fetch, url, {
    method: 'POST',
    body: new URLSearchParams(form).toString(),
    headers,
  });
}

/** Returns the URL of a well-known document, with or without a path (RFC 8414, 3.1). */
function wellKnown(url: URL, document: string): string {
  return `${url.origin}/.well-known/${document}${url.pathname.replace(/\/$/, '')}`;
}

async function json<T>(
  fetch: typeof globalThis.fetch,
  url: string,
  init: RequestInit = {},
): Promise<T> {
  const headers = {
    accept: 'application/json',
    ...(init.headers as Record<string, string> | undefined),
  };
  return within(limit, undefined, async (signal) => {
    const answer = await fetch(url, {
      ...init,
      headers,
      signal,
      redirect: 'manual',
      credentials: 'omit',
    }).catch(notReached);
    const text = await answer.text().catch(notReached);
    const body = read(text);
    if (answer.ok && (body !== undefined || text === '')) return body as T;
    const { error, error_description: message } = (body ?? {}) as {
      error?: string;
      error_description?: string;
    };
    // A request to retry later is a transient error and not a decision.
    const isVerdict = error !== undefined && answer.status < 500 && answer.status !== 429;
    if (isVerdict && error !== 'temporarily_unavailable')
      throw new OAuthError(error, message ?? error);
    if (answer.ok)
      throw new ApiError('unexpected', `${url} answered something else`, { status: answer.status });
    throw ApiError.of(answer);
  });
}

function read(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
