import { createHash, randomBytes, randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AppStack, eventually, Fixture, TcpProxy } from '#testing';
import { startAccount } from '../../testing/account-app.js';

const html = { accept: 'text/html' };

const fixture = new Fixture();
let stack: AppStack;
let postgres: TcpProxy;
let base: string;
beforeAll(async () => {
  stack = await AppStack.open();
  fixture.onClose(() => stack.close());
  postgres = await TcpProxy.to(stack.postgres.urls.account);
  fixture.onClose(() => postgres.close());
  const variables = { ...stack.variables('account'), DATABASE_URL: postgres.url };
  base = (await startAccount(fixture, variables)).url;
});
afterAll(() => fixture.close());

const get = (path: string, headers: Record<string, string> = html) =>
  fetch(base + path, { headers, redirect: 'manual' });
const post = (
  path: string,
  headers: Record<string, string>,
  body = new URLSearchParams({ name: 'a' }),
) =>
  fetch(base + path, {
    method: 'POST',
    headers: { ...html, ...headers },
    body,
    redirect: 'manual',
  });

it('has a content security policy and is not cached', async () => {
  const { headers } = await get('/sign-in');
  expect(headers.get('content-security-policy')).toBe(
    "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; " +
      "img-src 'self' data:; manifest-src 'self'; form-action 'self'; frame-ancestors 'none'; " +
      "base-uri 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  );
  expect(headers.get('cache-control')).toBe('no-store');
  expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
});

it('contains one script, which is a file, and no style', async () => {
  const text = await (await get('/sign-in')).text();
  expect(text.match(/<script[^]*?<\/script>/g)).toEqual([
    expect.stringMatching(/^<script type="module" src="\/console\/assets\/site-[^"]+"><\/script>$/),
  ]);
  expect(text).not.toMatch(/<style|\sstyle=|\son[a-z]+=|javascript:/i);
});

it('leads a person without an account to the ways to get one', async () => {
  expect(await (await get('/sign-in')).text()).toContain('href="/register"');
  const answer = await get('/register');
  expect(answer.status).toBe(403);
  expect(await answer.text()).toContain('prints the link of its first account');
});

it('says why an IP address has no passkeys', async () => {
  const page = await get('/passkeys', await signedIn());
  const text = await page.text();
  expect(text).toContain('Passkeys need an address with a domain name and HTTPS');
  expect(text).not.toContain('data-passkey');
});

it('names the configured provider of a person, or else the issuer of the account', async () => {
  const headers = await signedIn('accounts.google.com');
  const provider = { SIGN_IN_ISSUER: 'https://id.example', SIGN_IN_CLIENT_ID: 'client' };
  const renamed = await startAccount(fixture, { ...stack.variables('account'), ...provider });
  for (const [url, named] of [
    [base, 'accounts.google.com'],
    [renamed.url, 'id.example'],
  ] as const) {
    const page = await fetch(`${url}/account`, { headers });
    expect(page.status).toBe(200);
    expect(await page.text()).toContain(`You sign in with ${named},`);
  }
});

/** Creates a signed-in person, of a provider or without one. @returns headers of the browser. */
async function signedIn(issuer: string | null = null): Promise<Record<string, string>> {
  const [id, cookie] = [randomUUID(), randomBytes(32).toString('base64url')];
  const owner = new pg.Client({ connectionString: stack.postgres.url });
  await owner.connect();
  await owner.query(
    `WITH person AS (
       INSERT INTO account.accounts (id, issuer, subject)
       VALUES ($2, $3::text, CASE WHEN $3::text IS NOT NULL THEN 'subject' END) RETURNING id)
     INSERT INTO account.sessions (hash, id, account_id, expires_at, address, user_agent)
     SELECT $1, id, id, now() + interval '1 hour', '', '' FROM person`,
    [createHash('sha256').update(cookie).digest(), id, issuer],
  );
  await owner.end();
  return { ...html, cookie: `account-session=${cookie}` };
}

it('is the target of password managers', async () => {
  const answer = await get('/.well-known/change-password');
  expect([answer.status, answer.headers.get('location')]).toEqual([302, '/password']);
});

it('has a manifest with icons for a home screen', async () => {
  const answer = await get('/manifest.webmanifest', {});
  expect(answer.headers.get('content-type')).toMatch(/^application\/manifest\+json/);
  const { icons, start_url } = (await answer.json()) as {
    icons: { src: string; type: string }[];
    start_url: string;
  };
  expect(start_url).toBe('/console/');
  for (const { src, type } of icons)
    expect((await get(src, {})).headers.get('content-type')).toContain(type);
  expect(icons).toHaveLength(2);
});

it('is styled by a file with a content hash, cached for a year', async () => {
  const [, path = ''] =
    /<link rel="stylesheet" href="([^"]+)"/.exec(await (await get('/sign-in')).text()) ?? [];
  const style = await get(path, {});
  expect(style.headers.get('content-type')).toBe('text/css; charset=utf-8');
  expect(style.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
});

it('is German for browsers that prefer it', async () => {
  const german = await get('/sign-in', { ...html, 'accept-language': 'de-AT,en;q=0.5' });
  expect(german.headers.get('content-language')).toBe('de');
  expect(await german.text()).toContain('<html lang="de">');
});

it('redirects to the sign-in, and back afterwards', async () => {
  const answer = await get('/device?user_code=ABCD-EFGH');
  expect(answer.status).toBe(303);
  expect(answer.headers.get('location')).toBe('/sign-in?next=%2Fdevice%3Fuser_code%3DABCD-EFGH');
});

describe('a form', () => {
  it.each([
    [{ 'sec-fetch-site': 'cross-site' }],
    [{ 'sec-fetch-site': 'same-site' }],
    [{ origin: 'https://evil.example' }],
    [{ origin: 'null' }],
  ])('with %j is refused', async (headers) => {
    const answer = await post('/sign-in', headers);
    expect(answer.status).toBe(403);
    expect(await answer.text()).toContain('The form was sent from another site.');
  });

  it('without TLS is accepted by its Origin', async () => {
    const answer = await post('/sign-in', { origin: base });
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/sign-in']);
  });

  it('that is refused redirects to its page, which shows the reason once', async () => {
    const answer = await post('/sign-in', { origin: base });
    const [cookie = ''] = answer.headers.getSetCookie();
    expect(cookie).toMatch(
      /^account-form\.sign-in=[\w-]+; Max-Age=60; Path=\/sign-in; HttpOnly; SameSite=Lax$/,
    );
    const page = await get('/sign-in', { ...html, cookie: cookie.split(';')[0] as string });
    expect(page.status).toBe(200);
    const text = await page.text();
    expect(text).toContain('The name or the password is wrong.');
    expect(text).toContain('value="a"');
    expect(page.headers.getSetCookie()[0]).toMatch(
      /^account-form\.sign-in=; .*Expires=Thu, 01 Jan 1970/,
    );
  });

  it('that is refused is an error for programs', async () => {
    const answer = await post('/sign-in', { origin: base, accept: 'application/json' });
    expect([answer.status, await answer.json()]).toMatchObject([403, { code: '403' }]);
  });

  it('above the limit shows when to try again, and offers a recovery code', async () => {
    const body = () => new URLSearchParams({ name: 'limited', password: 'a wrong one, but long' });
    let last = await post('/sign-in', { origin: base }, body());
    for (let count = 0; count < 10; count += 1)
      last = await post('/sign-in', { origin: base }, body());
    const [cookie = ''] = last.headers.getSetCookie();
    const page = await get('/sign-in', { ...html, cookie: cookie.split(';')[0] as string });
    const text = await page.text();
    expect(text).toContain('Too many wrong passwords for this name or from your network.');
    expect(text).toContain('Apps continue to sync. Try again in 60 minutes.');
    expect(text).toContain('href="/recover"');
  });

  it.each(['/done', '/forward', '/sign-in/code'])(
    '%s is accepted without the outcome of a form, or with a forged one',
    async (path) => {
      const cookie = `account-form${path.replaceAll('/', '.')}=${'a'.repeat(100)}`;
      for (const headers of [html, { ...html, cookie }])
        expect((await get(path, headers)).status).toBe(303);
    },
  );
});

describe('a field', () => {
  it.each(['\0', 'a\tb', 'a\nb', '\u0085'])(
    'with the control character %j is refused',
    async (name) => {
      const body = new URLSearchParams({ name, password: 'an unusual sentence' });
      expect((await post('/sign-in', { origin: base }, body)).status).toBe(400);
      expect(
        (await get(`/sign-in?${new URLSearchParams({ next: `/${name}` }).toString()}`)).status,
      ).toBe(400);
    },
  );
});

describe('an error', () => {
  it('is a page for browsers and JSON for other clients', async () => {
    const page = await get('/nothing');
    expect(page.status).toBe(404);
    expect(await page.text()).toContain('This server has no page at this address.');
    const other = await get('/nothing', { accept: 'application/json' });
    expect(other.status).toBe(404);
    expect(await other.json()).toMatchObject({ code: '404' });
  });

  it('of a wrong method names the allowed ones', async () => {
    const answer = await fetch(`${base}/sign-out`, { headers: html });
    expect(answer.status).toBe(405);
    expect(answer.headers.get('allow')).toBe('POST');
  });

  it('of a path that cannot be decoded is a page', async () => {
    const answer = await get('/%E0%A4%A');
    expect(answer.status).toBe(404);
    expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'");
  });

  it('of a form that is too large is a page', async () => {
    const body = new URLSearchParams({ name: 'a'.repeat(3_000_000) });
    const answer = await post('/sign-in', {}, body).catch(() => undefined);
    // The server can close the connection before the client has sent the whole body.
    expect([413, undefined]).toContain(answer?.status);
  });

  it.each([
    ['application/json', '{'],
    ['application/x-www-form-urlencoded', '&a=1'.repeat(100)],
  ])('of a body of %s that cannot be read is the client’s', async (type, body) => {
    const headers = { ...html, 'content-type': type };
    const answer = await fetch(`${base}/sign-in`, { method: 'POST', headers, body });
    expect(answer.status).toBe(400);
    expect(await answer.text()).toContain('The request is incomplete or invalid.');
  });

  it('of a plugin is a page', async () => {
    const answer = await get('/console/', { ...html, range: 'bytes=9-1' });
    expect(answer.status).toBe(400);
    expect(await answer.text()).not.toContain('Range Not Satisfiable');
  });

  it('of an unknown link reveals nothing about it', async () => {
    const answer = await get(`/links/${'a'.repeat(43)}`);
    expect(answer.status).toBe(410);
    expect(await answer.text()).toContain('This link no longer works');
  });
});

describe('without Postgres', () => {
  it('a page reports the outage, and works again afterwards', async () => {
    const cookie = `account-session=${'a'.repeat(43)}`;
    postgres.refuse();
    await eventually(async () => {
      const answer = await get('/account', { ...html, cookie });
      expect(answer.status).toBe(503);
      expect(answer.headers.get('retry-after')).toMatch(/^\d+$/);
      expect(await answer.text()).toContain('Unavailable: the database.');
    });
    postgres.accept();
    await eventually(async () =>
      expect((await get('/account', { ...html, cookie })).status).toBe(303),
    );
  });
});
