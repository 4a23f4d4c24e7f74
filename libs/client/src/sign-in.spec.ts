import { expect, it } from 'vitest';
import { SignIn } from './sign-in.js';
import { memoryStore } from './store.js';

const api = 'https://sync.example';
const issuer = 'https://account.example';
const metadata = {
  resource: api,
  authorization_servers: [issuer],
  issuer,
  authorization_endpoint: `${issuer}/auth`,
  token_endpoint: `${issuer}/token`,
  revocation_endpoint: `${issuer}/revocation`,
};

/** Returns a sign-in with expired tokens. `answer` answers requests to the endpoints. */
function signedIn(
  answer: (path: string, form: URLSearchParams) => Response | Promise<Response>,
): SignIn {
  const tokens = { access: 'a1', refresh: 'r1', expires: 0, clientId: 'c' };
  const store = memoryStore(new Map([['sign-in/tokens', tokens]]));
  const fetch: typeof globalThis.fetch = async (url, init) => {
    const { pathname } = new URL(String(url));
    if (pathname.startsWith('/.well-known/')) return Response.json(metadata);
    return answer(pathname, new URLSearchParams(String(init?.body)));
  };
  return new SignIn({ api, store, clientName: 'Test', fetch });
}

it.each([
  [400, 'invalid_grant', 'unauthorized', false],
  [401, 'invalid_client', 'unauthorized', false],
  [400, 'unauthorized_client', 'unauthorized', false],
  [403, 'Forbidden', 'unexpected', true],
  [400, 'invalid_request', 'unexpected', true],
  [400, 'temporarily_unavailable', 'invalid', true],
  [503, 'invalid_grant', 'unavailable', true],
])('a renewal answered with %i %s fails as %s, signed in: %s', async (...row) => {
  const [status, error, code, isSignedIn] = row;
  const signIn = signedIn(() => Response.json({ error }, { status }));
  await expect(signIn.token()).rejects.toMatchObject({ name: 'ApiError', code });
  expect(await signIn.isSignedIn()).toBe(isSignedIn);
});

it('signs out after a running renewal, and revokes its tokens', async () => {
  const revoked: (string | null)[] = [];
  let renew = (_tokens: Response) => {};
  let start = () => {};
  const renewing = new Promise<void>((resolve) => (start = resolve));
  const signIn = signedIn((path, form) => {
    if (path === '/token') {
      start();
      return new Promise((resolve) => (renew = resolve));
    }
    revoked.push(form.get('token'));
    return new Response();
  });
  const token = signIn.token();
  await renewing;
  const signedOut = signIn.signOut();
  await new Promise(setImmediate);
  renew(Response.json({ access_token: 'a2', refresh_token: 'r2' }));
  expect(await token).toBe('a2');
  await signedOut;
  expect([await signIn.isSignedIn(), revoked]).toEqual([false, ['r2']]);
});
