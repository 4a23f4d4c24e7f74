import { signal } from '@preact/signals';
import { type Api, ApiError, createApi } from '#client';

/** The signed-in user. */
export interface User {
  readonly id: string;
  /** Null for users of a provider who have not chosen a name. */
  readonly name: string | null;
}

interface TokenAnswer {
  readonly access_token: string;
  readonly expires_in: number;
  readonly api: string;
  readonly user: User;
}

/** True if the server has no configured API, so that no data is available. */
export const hasNoApi = signal(false);

/** Milliseconds before its expiry at which a token is renewed, so that no request uses it later. */
const earlyMs = 30_000;
const answerMs = 15_000;

/** The signed-in user; undefined while the page starts. */
export const user = signal<User>();

/** True after the session ended. The page stays open, since it can contain typed input. */
export const isSignedOut = signal(false);

// In memory only, so that other pages and later users of this browser find no token.
let current: { token: string; until: number; baseUrl: string } | undefined;
let asked: Promise<string> | undefined;

/** Returns the path of the sign-in, which leads back to the current page. */
export function signInPath(): string {
  return `/sign-in?next=${encodeURIComponent(location.pathname + location.search)}`;
}

/** Returns the API for the user. @throws ApiError if the account app returns no token. */
export async function connect(): Promise<Api> {
  if (!api) {
    await token();
    api ??= createApi({ baseUrl: current?.baseUrl ?? '', token, retries: 2 });
  }
  return api;
}
let api: Api | undefined;

/** Returns a valid token. Concurrent callers share one request. */
function token({ rejected }: { rejected?: string } = {}): string | Promise<string> {
  if (current && current.token !== rejected && performance.now() < current.until)
    return current.token;
  asked ??= ask().finally(() => (asked = undefined));
  return asked;
}

async function ask(): Promise<string> {
  const answer = await fetch('/console/token', {
    method: 'POST',
    signal: AbortSignal.timeout(answerMs),
  }).catch((cause: unknown) => {
    throw new ApiError('network', 'The account app was not reached', { cause });
  });
  if (answer.status === 401) {
    if (user.value) isSignedOut.value = true;
    else location.replace(signInPath());
  }
  hasNoApi.value = answer.status === 501;
  if (!answer.ok) throw ApiError.fromResponse(answer);
  const {
    access_token,
    expires_in,
    api: baseUrl,
    user: whose,
  } = (await answer.json()) as TokenAnswer;
  if (user.value && user.value.id !== whose.id) {
    // Another user signed in, in another window. The reload discards the previous user's data.
    location.reload();
    throw new ApiError('aborted', 'Somebody else is signed in');
  }
  user.value = whose;
  isSignedOut.value = false;
  current = {
    token: access_token,
    until: performance.now() + expires_in * 1_000 - earlyMs,
    baseUrl,
  };
  return access_token;
}
