import { request } from 'node:http';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { beforeAll, describe, expect, test } from 'vitest';
import { send } from './http.js';
import { feed, newGuid, numbers } from './samples.js';
import { baseUrl } from './stack.js';
import { User } from './user.js';

/** An answer with its content coding, which `fetch` would decode. */
function coded(method: string, path: string, credential: string, headers: Record<string, string>) {
  return new Promise<{ status: number; headers: Record<string, unknown>; body: Buffer }>(
    (resolve, reject) => {
      const sent = { authorization: `Bearer ${credential}`, ...headers };
      const asked = request(
        `${baseUrl}${path}`,
        { method, headers: sent, agent: false },
        (answer) => {
          const chunks: Buffer[] = [];
          answer.on('data', (chunk: Buffer) => chunks.push(chunk));
          answer.on('end', () =>
            resolve({
              status: answer.statusCode ?? 0,
              headers: answer.headers,
              body: Buffer.concat(chunks),
            }),
          );
        },
      );
      asked.on('error', reject).end();
    },
  );
}

let ann: User;
beforeAll(async () => {
  ann = await User.fresh();
  await ann.subscribe(...numbers(40).map((n) => feed(n)));
});

describe('a list above 1 KB is compressed', () => {
  test.each([
    ['gzip', 'gzip', gunzipSync],
    ['br', 'br', brotliDecompressSync],
    ['gzip, deflate, br', 'br', brotliDecompressSync],
    ['gzip;q=1, br;q=0', 'gzip', gunzipSync],
  ] as const)('for Accept-Encoding %s', async (accept, coding, decoded) => {
    const plain = await coded('GET', '/subscriptions', ann.credential, {});
    const answer = await coded('GET', '/subscriptions', ann.credential, {
      'accept-encoding': accept,
    });
    expect(answer.headers['content-encoding']).toBe(coding);
    expect(decoded(answer.body).equals(plain.body)).toBe(true);
    expect(answer.body.length).toBeLessThan(plain.body.length / 4);
    expect(answer.headers['vary']).toMatch(/accept-encoding/i);
    // The ETag is weak: it identifies the content in any coding.
    expect(answer.headers['etag']).toBe(plain.headers['etag']);
  });

  test('only on request', async () => {
    for (const accept of ['identity', 'deflate', 'br;q=0', ''])
      expect(
        (await coded('GET', '/subscriptions', ann.credential, { 'accept-encoding': accept }))
          .headers,
      ).not.toHaveProperty('content-encoding');
  });

  test('unlike a short one', async () => {
    const { headers } = await coded('GET', '/episodes', ann.credential, {
      'accept-encoding': 'gzip',
    });
    expect(headers).not.toHaveProperty('content-encoding');
  });

  test('and revalidated by its ETag: 304 without a body or a coding', async () => {
    const { headers } = await coded('GET', '/subscriptions', ann.credential, {
      'accept-encoding': 'gzip',
    });
    const again = { 'accept-encoding': 'br', 'if-none-match': String(headers['etag']) };
    const answer = await coded('GET', '/subscriptions', ann.credential, again);
    expect([answer.status, answer.body.length, answer.headers['content-encoding']]).toEqual([
      304,
      0,
      undefined,
    ]);
  });

  test('HEAD has the length of GET, or none if GET would be compressed', async () => {
    const length = async (method: string, headers: Record<string, string>) => {
      const answer = await coded(method, '/subscriptions', ann.credential, headers);
      return [answer.status, answer.headers['etag'], answer.headers['content-length']];
    };
    const plain = await length('GET', {});
    expect(await length('HEAD', {})).toEqual(plain);
    expect(await length('HEAD', { 'accept-encoding': 'gzip' })).toEqual([
      ...plain.slice(0, 2),
      undefined,
    ]);
  });

  test('a compressed request body is 405', async () => {
    const headers = { 'content-encoding': 'gzip' };
    const raw = new Uint8Array(
      Buffer.from('1f8b08000000000000ffab564a2c2dc9c82f5272000000ffff', 'hex'),
    );
    expect((await ann.send('POST', '/subscriptions', { raw, headers })).status).toBe(405);
  });
});

describe('security and cache headers', () => {
  test('are on every answer, also on errors', async () => {
    for (const answer of [
      await ann.get('/subscriptions'),
      await ann.get(`/subscriptions/${newGuid()}`),
      await ann.get('/subscriptions/%zz'),
      await ann.get('/nothing'),
      await ann.patch('/subscriptions/x', {}),
      await send('GET', '/subscriptions'),
      await send('GET', '/docs'),
    ]) {
      expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
      expect(answer.headers.get('referrer-policy')).toBe('no-referrer');
      expect(answer.headers.get('content-security-policy')).toMatch(
        /^default-src '(none|self)'.*frame-ancestors 'none'$/,
      );
      expect([answer.headers.get('x-powered-by'), answer.headers.get('server')]).toEqual([
        null,
        null,
      ]);
    }
  });

  test('exclude personal data from caches, except for lists with an ETag', async () => {
    const guid = await ann.subscribed();
    const of = async (path: string) => (await ann.get(path)).headers.get('cache-control');
    expect(await of('/subscriptions')).toBe('private, no-cache');
    expect(await of('/episodes')).toBe('private, no-cache');
    for (const path of [
      `/subscriptions/${guid}`,
      `/subscriptions/${newGuid()}`,
      '/deletions/1',
      '/nothing',
      '/deletions/x',
    ])
      expect(await of(path)).toBe('no-store');
    expect(
      (await ann.post('/subscriptions', { subscriptions: [] })).headers.get('cache-control'),
    ).toBe('no-store');
    expect((await send('GET', '/subscriptions')).headers.get('cache-control')).toBe('no-store');
  });

  test('allow only the reference page to run its own scripts', async () => {
    const { text } = await send('GET', '/docs');
    const scripts = [...text.matchAll(/<script\b([^>]*)>([\s\S]*?)<\/script>/g)];
    expect(scripts.length).toBeGreaterThan(0);
    for (const [, attributes, inline] of scripts) {
      expect(inline?.trim()).toBe('');
      const source = /src="([^"]+)"/.exec(attributes ?? '')?.[1] ?? '';
      const script = await send('GET', new URL(source, `${baseUrl}/docs`).pathname);
      expect([script.status, script.headers.get('content-type')]).toEqual([
        200,
        expect.stringMatching(/javascript/),
      ]);
    }
  });
});

test('a client cannot claim to be a proxy: links have the requested host', async () => {
  const headers = {
    'x-forwarded-host': 'evil.example',
    'x-forwarded-proto': 'https',
    forwarded: 'host=evil.example',
  };
  const { body } = await ann.get<{ next: string }>('/subscriptions?per_page=1', headers);
  expect(body.next.startsWith(`${baseUrl}/subscriptions?`)).toBe(true);
});
