import { describe, expect, test } from 'vitest';
import { expectError, send } from './http.js';
import { newGuid } from './samples.js';
import { User } from './user.js';

/** The allowed web origin of the system under test, and another one. */
const [origin, otherOrigin] = ['https://app.example', 'https://other.example'];
const list = (header: string | null) => (header ?? '').toLowerCase().split(/, */).sort();

describe('a CORS preflight', () => {
  const preflight = (path: string, from: string, method: string, headers = 'authorization') =>
    send('OPTIONS', path, {
      headers: {
        origin: from,
        'access-control-request-method': method,
        'access-control-request-headers': headers,
      },
    });

  test.each([
    ['POST', '/subscriptions'],
    ['PATCH', `/subscriptions/${newGuid()}`],
    ['DELETE', `/v1/subscriptions/${newGuid()}`],
    ['GET', '/v1/episodes'],
  ])('is answered without a credential: %s %s', async (method, path) => {
    const { status, text, headers } = await preflight(path, origin, method);
    expect([status, text, headers.get('access-control-allow-origin')]).toEqual([204, '', origin]);
    expect(list(headers.get('access-control-allow-methods'))).toContain(method.toLowerCase());
  });

  test('allows every header of the interface', async () => {
    const { headers } = await preflight(
      '/subscriptions',
      origin,
      'POST',
      'authorization, content-type, idempotency-key',
    );
    expect(list(headers.get('access-control-allow-headers'))).toEqual(
      expect.arrayContaining(['authorization', 'content-type', 'idempotency-key', 'if-none-match']),
    );
  });

  test('rejects another origin', async () => {
    const { headers } = await preflight('/subscriptions', otherOrigin, 'GET');
    expect(headers.get('access-control-allow-origin')).toBeNull();
  });
});

describe('an answer to a web page', () => {
  test('is readable from an allowed origin, with the headers for clients', async () => {
    const { headers } = await (await User.fresh()).get('/subscriptions', { origin });
    expect(headers.get('access-control-allow-origin')).toBe(origin);
    expect(list(headers.get('access-control-expose-headers'))).toEqual(
      expect.arrayContaining([
        'date',
        'etag',
        'ignored-parameters',
        'retry-after',
        'sync-timestamp',
        'www-authenticate',
        'x-request-id',
      ]),
    );
  });

  test('is also readable if it is an error', async () => {
    const ann = await User.fresh();
    for (const answer of [
      await send('GET', '/subscriptions', { headers: { origin } }),
      await ann.get('/nothing', { origin }),
      await ann.get(`/subscriptions/${newGuid()}`, { origin }),
      await ann.patch('/subscriptions/x', {}, { origin }),
    ]) {
      expect(answer.status).toBeGreaterThanOrEqual(400);
      expect(answer.headers.get('access-control-allow-origin')).toBe(origin);
    }
  });

  test('is not readable from another origin', async () => {
    const { headers } = await (await User.fresh()).get('/subscriptions', { origin: otherOrigin });
    expect(headers.get('access-control-allow-origin')).toBeNull();
  });
});

test('an OPTIONS without preflight is 401 without a credential, 405 with one', async () => {
  expectError(await send('OPTIONS', '/subscriptions', { headers: { origin } }), 401);
  expectError(
    await (await User.fresh()).send('OPTIONS', '/subscriptions', { headers: { origin } }),
    405,
  );
});
