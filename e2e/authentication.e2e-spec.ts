import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { expectError, send } from './http.js';
import { newGuid } from './samples.js';
import { baseUrl, token } from './stack.js';
import { User } from './user.js';

const guid = newGuid();
const operations = [
  ['POST', '/subscriptions'],
  ['GET', '/subscriptions'],
  ['GET', `/subscriptions/${guid}`],
  ['PATCH', `/subscriptions/${guid}`],
  ['DELETE', `/subscriptions/${guid}`],
  ['GET', '/deletions/1'],
  ['GET', '/episodes'],
  ['POST', '/episodes'],
  ['GET', '/feeds'],
  ['GET', `/feeds/episodes?guid=${guid}`],
  ['POST', '/feeds'],
  ['POST', '/feeds/preview'],
  ['POST', '/feeds/import'],
  ['GET', '/feeds/import'],
  ['DELETE', '/feeds/import'],
  ['POST', '/feeds/refresh'],
] as const;
const inOneHour = Math.floor(Date.now() / 1_000) + 3_600;

describe('a missing credential is 401', () => {
  test.each(operations)('%s %s', async (method, path) => {
    const answer = await send(method, path);
    expectError(answer, 401);
    expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer/);
  });
});

describe('a 401 names the source of tokens', () => {
  const metadata = `resource_metadata="${baseUrl}/.well-known/oauth-protected-resource"`;

  test.each<[string, Record<string, string>, string]>([
    ['without a credential', {}, `Bearer ${metadata}`],
    [
      'with an invalid one',
      { authorization: 'Bearer abc' },
      `Bearer ${metadata}, error="invalid_token"`,
    ],
  ])('%s', async (_, headers, challenge) => {
    expect((await send('GET', '/subscriptions', { headers })).headers.get('www-authenticate')).toBe(
      challenge,
    );
  });

  test('with the missing scope', async () => {
    const reader = await token({ scope: 'read:subscriptions' });
    const { headers } = await send('POST', '/subscriptions', {
      token: reader,
      body: { subscriptions: [] },
    });
    const wanted = 'error="insufficient_scope", scope="write:subscriptions"';
    expect(headers.get('www-authenticate')).toBe(`Bearer ${metadata}, ${wanted}`);
  });

  test('in a document that any web page can read, with the API and its scopes', async () => {
    const { status, body, headers } = await send('GET', '/.well-known/oauth-protected-resource', {
      headers: { origin: 'https://other.example' },
    });
    expect([status, headers.get('access-control-allow-origin')]).toEqual([200, '*']);
    expect(body).toMatchObject({
      resource: baseUrl,
      scopes_supported: ['read:subscriptions', 'write:subscriptions'],
      bearer_methods_supported: ['header'],
    });
  });
});

describe('scopes', () => {
  test('a token without a scope claim can read and write', async () => {
    const ann = await User.fresh();
    await ann.subscribed();
    expect((await ann.subscriptions()).total).toBe(1);
  });

  test.each(operations)('%s %s needs its scope: 401 without it', async (method, path) => {
    const scope = method === 'GET' ? 'write:subscriptions' : 'read:subscriptions';
    expectError(await send(method, path, { token: await token({ scope }) }), 401);
  });

  test('read:subscriptions allows every GET and HEAD', async () => {
    const reader = await User.fresh({ scope: 'profile read:subscriptions' });
    expect((await reader.get('/subscriptions')).status).toBe(200);
    expect((await reader.get('/episodes')).status).toBe(200);
    expect((await reader.send('HEAD', '/episodes')).status).toBe(200);
    expectError(await reader.get(`/subscriptions/${guid}`), 404);
    expectError(await reader.get('/deletions/1'), 404);
  });

  test('write:subscriptions allows every write', async () => {
    const writer = await User.fresh({ scope: 'write:subscriptions' });
    const made = await writer.subscribed();
    await writer.update(made, { is_subscribed: false });
    await writer.upload();
    await writer.requestDeletion(made);
  });
});

describe('the user', () => {
  test('is the subject: two tokens of one subject see the same data', async () => {
    const sub = randomUUID();
    const [phone, laptop] = [
      await User.fresh({ sub }),
      await User.fresh({ sub, exp: inOneHour + 60 }),
    ];
    const made = await phone.subscribed();
    expect((await laptop.subscription(made)).guid).toBe(made);
  });

  test('can be a subject of any length and alphabet', async () => {
    const ann = await User.fresh({ sub: `Änn ☂ ${'x'.repeat(2_000)} ${randomUUID()}` });
    expect((await ann.subscriptions()).total).toBe(0);
  });
});

describe('without a credential', () => {
  test('the OpenAPI document and the key set are served', async () => {
    expect((await send('GET', '/openapi.json')).status).toBe(200);
    const keys = await send<{ keys: Record<string, unknown>[] }>('GET', '/.well-known/jwks.json');
    expect(keys.body.keys.every((key) => !('d' in key))).toBe(true);
  });

  test('the root describes the server, with links for clients', async () => {
    const { status, body } = await send<Record<string, string>>('GET', '/');
    expect([status, body.name]).toEqual([200, 'Podcast Sync']);
    expect((await fetch(body.api_description ?? '')).status).toBe(200);
  });

  test('the reference page is served', async () => {
    const page = await send('GET', '/docs');
    expect(page.status).toBe(200);
    expect(page.headers.get('content-type')).toMatch(/^text\/html/);
  });

  test.each(['/nothing', '/v1', '/openapi.json/more', '/docsx', '/%zz'])(
    '%s is not served',
    async (path) => {
      expectError(await send('GET', path), 401);
    },
  );
});
