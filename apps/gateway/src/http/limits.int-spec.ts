import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ErrorAnswer, errorBody, httpAnswers } from '#http';
import { createLog } from '#runtime';
import {
  eventually,
  Fixture,
  freshUser,
  type ServedApp,
  startRedisServer,
  type TestServer,
  TokenIssuer,
} from '#testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startGateway } from '../../testing/gateway-app.js';

let redis: TestServer;
let keys: string;
let issuer: TokenIssuer;
const fixture = new Fixture();
beforeAll(async () => {
  keys = mkdtempSync(join(tmpdir(), 'podcast-sync-keys-'));
  [redis, issuer] = await Promise.all([startRedisServer(), TokenIssuer.open(keys)]);
});
afterEach(() => fixture.close());
afterAll(async () => {
  await redis.dispose();
  rmSync(keys, { recursive: true });
});

/** Starts a gateway without services, which its refusals do not need. It stops after the test. */
function gateway(
  variables: Record<string, string>,
  options: Parameters<typeof startGateway>[2] = {},
): Promise<ServedApp> {
  const needed = {
    REDIS_URL: redis.url,
    AUTH_JWKS_FILE: issuer.keySetFile,
    AUTH_ISSUER: TokenIssuer.issuer,
    AUTH_AUDIENCE: TokenIssuer.audience,
  };
  return startGateway(fixture, { ...needed, ...variables }, options);
}

/** Requests a path that every gateway answers without a service, after the credential check. */
async function ask(
  { url }: ServedApp,
  user?: string,
  headers: Record<string, string> = {},
): Promise<Response> {
  const credential: Record<string, string> =
    user === undefined ? {} : { authorization: `Bearer ${await issuer.issue(user)}` };
  return fetch(`${url}/nothing`, { headers: { ...credential, ...headers } });
}

/**
 * Sends a request in small pieces, each before the connection times out. Returns the whole answer.
 */
async function slowly(
  at: ServedApp,
  first: string,
  drop: string,
): Promise<{ text: string; tookMs: number }> {
  const start = performance.now();
  const socket = connect(Number(at.facts['port']), '127.0.0.1');
  socket.on('error', () => {});
  socket.write(first);
  const drip = setInterval(() => socket.write(drop), 100);
  let text = '';
  for await (const chunk of socket.setEncoding('utf8')) text += String(chunk);
  clearInterval(drip);
  return { text, tookMs: performance.now() - start };
}

function expectTimedOut(text: string): void {
  expect(text).toMatch(/^HTTP\/1\.1 408 /);
  expect(JSON.parse(text.split('\r\n\r\n')[1] ?? '')).toEqual(
    errorBody(httpAnswers[408] as ErrorAnswer),
  );
}

describe('a limit of requests', () => {
  it('is off by default', async () => {
    const at = await gateway({});
    const { headers } = await ask(at, freshUser());
    expect([headers.get('ratelimit'), headers.get('ratelimit-policy')]).toEqual([null, null]);
  });

  it('per user is counted by all gateways together; headers have the remainder', async () => {
    const both = [
      await gateway({ RATE_LIMIT_PER_USER: '4/60' }),
      await gateway({ RATE_LIMIT_PER_USER: '4/60' }),
    ];
    const [ann, bob] = [freshUser(), freshUser()];
    const left = [];
    for (const at of [...both, ...both]) {
      const { status, headers } = await ask(at, ann);
      expect([status, headers.get('ratelimit-policy')]).toEqual([404, '"user";q=4;w=60']);
      left.push(/^"user";r=(\d+);t=\d+$/.exec(headers.get('ratelimit') ?? '')?.[1]);
    }
    expect(left).toEqual(['3', '2', '1', '0']);
    for (const at of both) {
      const refused = await ask(at, ann);
      expect([refused.status, await refused.json()]).toEqual([
        429,
        { code: '429', message: 'Too many requests' },
      ]);
      const wait = Number(refused.headers.get('retry-after'));
      expect(wait).toBeGreaterThan(0);
      expect(wait).toBeLessThanOrEqual(60);
      expect((await ask(at, bob)).status).toBe(404);
      expect(await at.metrics('podcast_sync_rate_limit_total')).toEqual([
        'podcast_sync_rate_limit_total{policy="user",outcome="limited"} 1',
      ]);
    }
  });

  it('per address applies before the credential; only proxies name the address', async () => {
    const open = await gateway({ RATE_LIMIT_PER_ADDRESS: '2/60', TRUSTED_PROXIES: '127.0.0.1/32' });
    const from = (address: string) => ask(open, undefined, { 'x-forwarded-for': address });
    const statuses = [];
    for (const last of ['1', '2', '2', '2', '1'])
      statuses.push((await from(`2001:db8:0:${last}::1`)).status);
    expect(statuses).toEqual([401, 401, 401, 429, 401]);
    expect((await from('2001:db8:0:2:ffff::9')).status).toBe(429);

    const direct = await gateway({ RATE_LIMIT_PER_ADDRESS: '2/60' });
    const claimed = [];
    for (const address of ['192.0.2.1', '192.0.2.2', '192.0.2.3'])
      claimed.push((await ask(direct, undefined, { 'x-forwarded-for': address })).status);
    expect(claimed).toEqual([401, 401, 429]);
  });

  it('is not applied while Redis is unavailable, and applies again afterwards', async () => {
    let logged = '';
    const log = createLog('gateway', 'info', { write: (line) => void (logged += line) });
    const at = await gateway({ RATE_LIMIT_PER_USER: '1/60' }, { log });
    const ann = freshUser();
    redis.pause();
    try {
      for (let count = 0; count < 3; count++) expect((await ask(at, ann)).status).toBe(404);
    } finally {
      redis.resume();
    }
    expect(
      await at.metrics('podcast_sync_rate_limit_total{policy="user",outcome="unchecked"}'),
    ).toHaveLength(1);
    const isCounted = async () =>
      expect((await ask(at, freshUser())).headers.has('ratelimit')).toBe(true);
    await eventually(isCounted);
    await redis.stop();
    for (let count = 0; count < 3; count++) expect((await ask(at, freshUser())).status).toBe(404);
    await redis.start();
    await eventually(isCounted);
    const said = /rate limits not applied/g;
    await eventually(() => expect(logged.match(said)).toHaveLength(2));
  });
});

describe('a client that does not finish its request', () => {
  const limitMs = 10_000;
  const timeouts = { headMs: 1_000, requestMs: 1_000 };
  let limited: ServedApp;
  beforeEach(async () => {
    limited = await gateway({}, { timeouts });
  });

  it.each([
    ['with the head', 'GET /nothing HTTP/1.1\r\nHost: a.example\r\n', 'X: y\r\n'],
    ['with the first line', 'G', ''],
  ])('%s gets 408', async (_, first, drop) => {
    const { text, tookMs } = await slowly(limited, first, drop);
    expectTimedOut(text);
    expect(tookMs).toBeLessThan(limitMs);
  });

  it('with the body gets 408', async () => {
    const head = [
      'POST /subscriptions HTTP/1.1',
      'Host: a.example',
      `Authorization: Bearer ${await issuer.issue('ann')}`,
      'Content-Type: application/json',
      'Content-Length: 1000',
      '',
      '',
    ];
    const { text, tookMs } = await slowly(limited, head.join('\r\n'), ' ');
    expectTimedOut(text);
    expect(tookMs).toBeLessThan(limitMs);
  });

  it('does not delay other clients', async () => {
    const slow = Array.from({ length: 200 }, () =>
      slowly(limited, 'GET / HTTP/1.1\r\n', 'X: y\r\n'),
    );
    expect((await ask(limited)).status).toBe(401);
    for (const { text } of await Promise.all(slow)) expectTimedOut(text);
  });
});

it('connections above the limit are closed', async () => {
  const at = await gateway({ MAX_CONNECTIONS: '1', MAX_STREAMS: '0' });
  const first = connect(Number(at.facts['port']), '127.0.0.1').setEncoding('utf8');
  first.write('GET /nothing HTTP/1.1\r\n');
  await eventually(() => expect(ask(at)).rejects.toThrow('fetch failed'));
  first.write('Host: a.example\r\nConnection: close\r\n\r\n');
  expect((await first.toArray()).join('')).toMatch(/^HTTP\/1\.1 401 /);
  await eventually(async () => expect((await ask(at)).status).toBe(401));
});

it('a head above the limit is 431', async () => {
  const at = await gateway({ MAX_HEADER_BYTES: '4096' });
  const answer = await ask(at, undefined, { 'x-large': 'x'.repeat(5_000) });
  expect([answer.status, await answer.json()]).toEqual([
    431,
    { code: '431', message: 'Request header is too large' },
  ]);
});

it('admits 212 requests of one user at a time, and refuses the next one with 503', async () => {
  const at = await gateway({});
  const head = [
    'POST /subscriptions HTTP/1.1',
    'Host: a.example',
    `Authorization: Bearer ${await issuer.issue('ann')}`,
    'Content-Type: application/json',
    'Content-Length: 1000',
  ];
  // Each of these requests runs until its body arrives.
  const running = Array.from({ length: 212 }, () => {
    const socket = connect(Number(at.facts['port']), '127.0.0.1').on('error', () => {});
    socket.write(`${head.join('\r\n')}\r\n\r\n`);
    return socket;
  });
  await eventually(async () => expect((await ask(at, 'ann')).status).toBe(503));
  expect((await ask(at, 'bob')).status).toBe(404);
  running.pop()?.destroy();
  await eventually(async () => expect((await ask(at, 'ann')).status).toBe(404));
  for (const socket of running) socket.destroy();
});

it('requests of lost connections free the slots of their user', async () => {
  const at = await gateway({});
  const token = await issuer.issue('ann');
  const head = `GET /subscriptions HTTP/1.1\r\nHost: a.example\r\nAuthorization: Bearer ${token}`;
  const lost = (requests: number) =>
    new Promise<void>((resolve) => {
      const socket = connect(Number(at.facts['port']), '127.0.0.1');
      socket.on('error', () => {});
      socket.once('close', () => resolve());
      socket.write(`${head}\r\n\r\n`.repeat(requests), () => socket.destroy());
    });
  // Together more than the maximum of 212 requests of one user.
  for (const requests of [1, 10, 11, 100])
    await Promise.all(Array.from({ length: 30 }, () => lost(requests)));
  await eventually(async () => expect((await ask(at, 'ann')).status).toBe(404));
  expect(await at.metrics('podcast_sync_held_bytes')).toEqual(['podcast_sync_held_bytes 0']);
});
