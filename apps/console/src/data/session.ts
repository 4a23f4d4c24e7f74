import { signal } from '@preact/signals';
import { type Api, ApiError, createApi } from '#client';

/** The signed-in user. */
export interface User {
  readonly id: string;
  /** Null for users of a provider who have not chosen a name. */
  readonly name: string | null;
}

interface ConsoleTokenResponse {
  readonly access_token: string;
  readonly expires_in: number;
  readonly api: string;
  readonly user: User;
}

/** Milliseconds before its expiry at which a token is replaced, to avoid 401 responses. */
const renewalMargin = 30_000;
/** Time limit in milliseconds for a token request. */
const requestTimeout = 15_000;
/** Time limit in milliseconds for {@link sendRequest}, such as the start of an import. */
const longRequestTimeout = 30_000;

/** The signed-in user; undefined while the page starts. */
export const user = signal<User>();

/** True after the session ended. The page stays open, because it can contain typed input. */
export const isSignedOut = signal(false);

// The token is only in memory: other pages and later users of this browser cannot read it.
// `until` is a time of `performance.now()`.
let currentToken: { token: string; until: number; baseUrl: string } | undefined;
let tokenRequest: Promise<string> | undefined;

/** Returns the path of the sign-in page. The current page opens again after the sign-in. */
export function signInPath(): string {
  return `/sign-in?next=${encodeURIComponent(location.pathname + location.search)}`;
}

/** Returns the SDK's client of the API for the signed-in user. @throws ApiError without a token. */
export async function apiOfUser(): Promise<Api> {
  if (!userApi) {
    await getAccessToken();
    userApi ??= createApi({
      baseUrl: currentToken?.baseUrl ?? '',
      token: getAccessToken,
      retries: 2,
    });
  }
  return userApi;
}
let userApi: Api | undefined;

/**
 * Sends a request for which the SDK has no method. After a 401 it sends the request again with a
 * new token.
 *
 * @returns the JSON of the response. @throws ApiError
 */
export async function sendRequest<T>(method: string, path: string, body?: object): Promise<T> {
  const fetchWithToken = (bearer: string) =>
    fetch(`${currentToken?.baseUrl ?? ''}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${bearer}`,
        ...(body && { 'content-type': 'application/json' }),
      },
      ...(body && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(longRequestTimeout),
    }).catch((cause: unknown) => {
      throw new ApiError('network', 'The server is unreachable', { cause });
    });
  const token = await getAccessToken();
  let response = await fetchWithToken(token);
  // The token can have expired, because the clock of `until` can stop while the computer sleeps.
  if (response.status === 401)
    response = await fetchWithToken(await getAccessToken({ rejected: token }));
  if (!response.ok) throw ApiError.fromResponse(response);
  return (await response.json()) as T;
}

/** Returns a valid access token. Concurrent callers share one request for a new token. */
function getAccessToken({ rejected }: { rejected?: string } = {}): string | Promise<string> {
  if (currentToken && currentToken.token !== rejected && performance.now() < currentToken.until)
    return currentToken.token;
  tokenRequest ??= requestToken().finally(() => (tokenRequest = undefined));
  return tokenRequest;
}

/** Requests a token of the browser's session from the account app. @throws ApiError */
async function requestToken(): Promise<string> {
  const response = await fetch('/console/token', {
    method: 'POST',
    signal: AbortSignal.timeout(requestTimeout),
  }).catch((cause: unknown) => {
    throw new ApiError('network', 'The account app is unreachable', { cause });
  });
  if (response.status === 401) {
    if (user.value) isSignedOut.value = true;
    else location.replace(signInPath());
  }
  if (!response.ok) throw ApiError.fromResponse(response);
  const {
    access_token,
    expires_in,
    api: baseUrl,
    user: tokenUser,
  } = (await response.json()) as ConsoleTokenResponse;
  if (user.value && user.value.id !== tokenUser.id) {
    // Another user has signed in in another window: the reload discards the previous user's data.
    location.reload();
    throw new ApiError('aborted', 'Another user has signed in');
  }
  user.value = tokenUser;
  isSignedOut.value = false;
  currentToken = {
    token: access_token,
    until: performance.now() + expires_in * 1_000 - renewalMargin,
    baseUrl,
  };
  return access_token;
}
