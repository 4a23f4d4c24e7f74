import { signal } from '@preact/signals';
import { type Api, ApiError, createApi } from '#client';

/** Who is signed in. */
export interface User {
  readonly id: string;
  /** Who comes from a provider may have none. */
  readonly name: string | null;
}

interface TokenAnswer {
  readonly access_token: string;
  readonly expires_in: number;
  readonly api: string;
  readonly user: User;
}

/** That the server is not told where its API is, so that nothing can be shown. */
export const hasNoApi = signal(false);

/** A token is renewed so long before its end, in milliseconds: no request is to come late with it. */
const earlyMs = 30_000;
/** How long the account app may take to answer, in milliseconds. */
const answerMs = 15_000;

/** Who is signed in; nobody yet while the page starts. */
export const user = signal<User>();

/** That the session ended while the page was open. Nobody is led away: something may be half typed. */
export const isSignedOut = signal(false);

// In memory only: no other page, and nobody who uses this browser later, finds a token.
let current: { token: string; until: number; baseUrl: string } | undefined;
let asked: Promise<string> | undefined;

/** Where somebody signs in, and comes back to the present page. */
export function signInPath(): string {
  return `/sign-in?next=${encodeURIComponent(location.pathname + location.search)}`;
}

/** The API, for who is signed in. @throws ApiError where it is not known, as nobody is or the account app is away. */
export async function connect(): Promise<Api> {
  if (!api) {
    await token();
    api ??= createApi({ baseUrl: current?.baseUrl ?? '', token, retries: 2 });
  }
  return api;
}
let api: Api | undefined;

/** A token that is good now; one ask at a time, whoever needs it. */
function token({ refused }: { refused?: string } = {}): string | Promise<string> {
  if (current && current.token !== refused && performance.now() < current.until) return current.token;
  asked ??= ask().finally(() => (asked = undefined));
  return asked;
}

async function ask(): Promise<string> {
  const answer = await fetch('/console/token', { method: 'POST', signal: AbortSignal.timeout(answerMs) }).catch(
    (cause: unknown) => {
      throw new ApiError('network', 'The account app was not reached', { cause });
    },
  );
  if (answer.status === 401) {
    if (user.value) isSignedOut.value = true;
    else location.replace(signInPath());
  }
  hasNoApi.value = answer.status === 501;
  if (!answer.ok) throw ApiError.of(answer);
  const { access_token, expires_in, api: baseUrl, user: whose } = (await answer.json()) as TokenAnswer;
  if (user.value && user.value.id !== whose.id) {
    // Somebody else has signed in, in another window: nothing of the one before stays here, or goes to that account.
    location.reload();
    throw new ApiError('aborted', 'Somebody else is signed in');
  }
  user.value = whose;
  isSignedOut.value = false;
  current = { token: access_token, until: performance.now() + expires_in * 1_000 - earlyMs, baseUrl };
  return access_token;
}
