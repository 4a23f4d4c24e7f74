import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { AppStack, eventually } from '#testing';
import { freePort } from '#embedded';
import { decodeJwt } from 'jose';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ConsoleTokenResponse } from './token.controller.js';

const api = 'http://api.example';
const most = 40;

let stack: AppStack;
let database: pg.Client;
let origin: string;
/** Origin of a second account app, whose users sign in at an OpenID provider. */
let party: string;
let gateway: string;
beforeAll(async () => {
  [stack, origin, party] = await Promise.all([AppStack.open(), freeOrigin(), freeOrigin()]);
  database = new pg.Client({ connectionString: stack.postgres.url });
  await database.connect();
  const account = (own: string, more: Record<string, string> = {}) =>
    stack.start(['account'], { PUBLIC_URL: own, PORT: new URL(own).port, API_URLS: api, ...more });
  const provider = { SIGN_IN_ISSUER: 'http://provider.invalid', MAX_TOKEN_REQUESTS: String(most) };
  await Promise.all([account(origin), account(party, provider), stack.start(['subscription'])]);
  const [started] = await stack.start(['gateway'], {
    AUTH_ISSUER: `urn:podcast-sync:tests,${origin},${party}`,
    AUTH_OWN_ISSUER: `urn:podcast-sync:tests,${origin},${party}`,
    AUTH_JWKS_URL: `${origin}=${origin}/jwks,${party}=${party}/jwks`,
    CORS_ORIGINS: origin,
  });
  gateway = `http://127.0.0.1:${String(started?.facts['port'])}`;
});
afterAll(async () => {
  await database?.end();
  await stack?.close();
});

async function freeOrigin(): Promise<string> {
  return `http://127.0.0.1:${await freePort()}`;
}

/** Creates a signed-in user. @param issuer of the provider; null for an account with a password. */
async function createPerson(issuer: string | null = null) {
  const [id, session, cookie] = [randomUUID(), randomUUID(), randomBytes(32).toString('base64url')];
  const subject = issuer && id;
  const account =
    'INSERT INTO account.accounts (id, name, issuer, subject) VALUES ($1, $2, $3, $4)';
  await database.query(account, [id, `p-${id.slice(0, 8)}`, issuer, subject]);
  await database.query(
    `INSERT INTO account.sessions (hash, id, account_id, expires_at, address, user_agent)
     VALUES ($1, $2, $3, now() + interval '1 hour', '192.0.2.1', 'a browser')`,
    [createHash('sha256').update(cookie).digest(), session, id],
  );
  return {
    id,
    name: `p-${id.slice(0, 8)}`,
    session,
    headers: { cookie: `account-session=${cookie}` },
  };
}

const ours = { 'sec-fetch-site': 'same-origin' };
const ask = (headers: Record<string, string>, at = origin) =>
  fetch(`${at}/console/token`, { method: 'POST', headers, redirect: 'manual' });

async function tokenOf(
  headers: Record<string, string>,
  at = origin,
): Promise<ConsoleTokenResponse> {
  const answer = await ask({ ...headers, ...ours }, at);
  expect([answer.status, answer.headers.get('cache-control')]).toEqual([200, 'no-store']);
  return (await answer.json()) as ConsoleTokenResponse;
}

const read = (token: string) =>
  fetch(`${gateway}/subscriptions`, { headers: { authorization: `Bearer ${token}`, origin } });

describe('a token of the console', () => {
  it('grants pages of this origin read and write access for ten minutes', async () => {
    const { id, name, session, headers } = await createPerson();
    const { access_token: token, ...rest } = await tokenOf(headers);
    expect(rest).toEqual({ expires_in: 600, api, user: { id, name } });
    expect(decodeJwt(token)).toMatchObject({
      iss: origin,
      sub: id,
      aud: 'podcast-sync',
      gid: session,
      scope: 'read:subscriptions write:subscriptions',
    });
    const { exp = 0, iat = 0 } = decodeJwt(token);
    expect(exp - iat).toBe(600);
    const answer = await read(token);
    expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([
      200,
      origin,
    ]);
  });

  it('is also issued to users of another provider', async () => {
    const { id, headers } = await createPerson('http://provider.invalid');
    const { access_token: token, user } = await tokenOf(headers, party);
    expect(user.id).toBe(id);
    expect((await read(token)).status).toBe(200);
  });

  it.each([
    ['a sign-out', '/sign-out', {}],
    ['the end of the other sessions', '/sessions/end-others', {}],
  ])('ends with its session, by %s', async (_, path) => {
    const { id, headers } = await createPerson();
    const { access_token: token } = await tokenOf(headers);
    expect((await read(token)).status).toBe(200);
    let by = headers;
    if (path !== '/sign-out') {
      const other = await createPerson();
      await database.query('UPDATE account.sessions SET account_id = $1 WHERE id = $2', [
        id,
        other.session,
      ]);
      by = other.headers;
    }
    const ended = await fetch(origin + path, {
      method: 'POST',
      headers: { ...by, ...ours },
      redirect: 'manual',
    });
    expect(ended.status).toBe(303);
    await eventually(async () => expect((await read(token)).status).toBe(401));
    expect((await ask({ ...headers, ...ours })).status).toBe(401);
  });
});

describe('token requests', () => {
  it.each([
    [{ 'sec-fetch-site': 'cross-site' }],
    [{ 'sec-fetch-site': 'same-site' }],
    [{ origin: 'https://evil.example' }],
    [{ origin: 'null' }],
  ])('is given to a page of another site: %j', async (from) => {
    const { headers } = await createPerson();
    const answer = await ask({ ...headers, ...from } as Record<string, string>);
    expect(answer.status).toBe(403);
    expect(await answer.text()).not.toContain('access_token');
  });

  it('without a session get 401 and no redirect', async () => {
    const answer = await ask(ours);
    expect([answer.status, await answer.json()]).toEqual([
      401,
      { code: '401', message: 'Sign in first' },
    ]);
  });

  it.each([
    ['/token', { grant_type: 'refresh_token', refresh_token: 'a-token-that-is-none' }],
    ['/device/auth', { scope: 'read:subscriptions' }],
  ])('with the client id of the console get no token by OAuth: %s', async (path, form) => {
    const body = new URLSearchParams({
      client_id: 'podcast-sync-console',
      ...(form as Record<string, string>),
    });
    const answer = await fetch(origin + path, { method: 'POST', body });
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({
      error_description: expect.stringContaining('not allowed for this client') as string,
    });
  });

  it('of a disabled account get no token', async () => {
    const { id, headers } = await createPerson();
    await database.query('UPDATE account.accounts SET disabled_at = now() WHERE id = $1', [id]);
    expect((await ask({ ...headers, ...ours })).status).toBe(401);
  });

  it('by GET or above the limit get no token', async () => {
    const { headers } = await createPerson();
    expect(
      (await fetch(`${origin}/console/token`, { headers })).headers.get('content-type'),
    ).not.toMatch(/json/);
    const statuses = await Promise.all(
      Array.from(
        { length: most + 1 },
        async () => (await ask({ ...headers, ...ours }, party)).status,
      ),
    );
    expect(statuses).toContain(429);
  });
});

describe('the files of the console', () => {
  it('are a document that is revalidated, and files that browsers cache permanently', async () => {
    const answer = await fetch(`${origin}/console/import`);
    const html = await answer.text();
    expect([answer.status, answer.headers.get('cache-control')]).toEqual([200, 'no-cache']);
    const [path = ''] = /\/console\/assets\/[\w.-]+\.js/.exec(html) ?? [];
    const script = await fetch(origin + path, { headers: { 'accept-encoding': 'br' } });
    expect(Object.fromEntries(script.headers)).toMatchObject({
      'cache-control': 'public, max-age=31536000, immutable',
      'content-encoding': 'br',
      'content-type': expect.stringMatching(/javascript; charset=utf-8$/),
    });
  });

  it('have a content security policy', async () => {
    const { headers } = await fetch(`${origin}/console/`);
    expect(headers.get('content-security-policy')).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; manifest-src 'self'; " +
        `img-src 'self' ${api} data:; connect-src 'self' ${api}; ` +
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; " +
        "require-trusted-types-for 'script'; trusted-types 'none'",
    );
    expect(headers.get('cross-origin-opener-policy')).toBe('same-origin');
  });

  it.each([
    '/console/nothing.js',
    '/console/assets/nothing.js',
    '/console/..%2f..%2fpackage.json',
    '/console/a/b',
  ])('are no others: %s', async (path) => expect((await fetch(origin + path)).status).toBe(404));
});
