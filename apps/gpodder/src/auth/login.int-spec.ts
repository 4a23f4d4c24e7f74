import { request as httpRequest } from 'node:http';
import { eventually } from '#testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cookieOf, GpodderFixture, type GpodderUser } from '../../testing/gpodder.fixture.js';

let fixture: GpodderFixture;
let ann: GpodderUser;
beforeAll(async () => {
  fixture = await GpodderFixture.open({}, 2);
});
afterAll(() => fixture.close());
const newUser = async () => (ann = await fixture.user());

const login = '/api/2/auth/{u}/login.json';
const logout = '/api/2/auth/{u}/logout.json';
const devices = '/api/2/devices/{u}.json';

describe('a request without a valid credential', () => {
  it.each([
    '/api/2/devices/ann.json',
    '/nothing',
    '/api/2/subscriptions/ann/phone.json',
    '/suggestions/9.json',
  ])('is 401 with a Basic challenge and no cookie: %s', async (path) => {
    const answer = await fixture.request(path);
    expect([answer.status, answer.headers.get('www-authenticate'), cookieOf(answer)]).toEqual([
      401,
      'Basic realm="Podcast Sync"',
      '',
    ]);
    expect(answer.json()).toEqual({ code: '401', message: 'User not authorized' });
  });

  it.each([
    [
      'a password that is not an app password',
      (p: GpodderUser) => `Basic ${btoa(`${p.name}:secret`)}`,
    ],
    [
      'an unknown app password',
      (p: GpodderUser) => `Basic ${btoa(`${p.name}:pst_AAAAAAAAAAAAAAAAAAAAAAAAAAAA`)}`,
    ],
    ['the name of another user', (p: GpodderUser) => `Basic ${btoa(`bob:${p.secret}`)}`],
    ['no colon', (p: GpodderUser) => `Basic ${btoa(p.secret)}`],
    ['another scheme', (p: GpodderUser) => `Digest ${p.secret}`],
    ['an empty header', () => ''],
  ])('is 401 with %s, also next to a valid cookie', async (_, authorization) => {
    await (await newUser()).logIn();
    const headers = { authorization: authorization(ann), cookie: ann.cookie };
    const answer = await fixture.request(devices.replace('{u}', ann.name), { headers });
    expect([answer.status, cookieOf(answer)]).toEqual([401, '']);
  });

  // Python's urllib reads no answer before it has sent the body.
  it('is answered after its body, also on a connection that then closes', async () => {
    const [gpodder] = fixture.replicas;
    const length = 3_000_000;
    const status = await new Promise((resolve, reject) => {
      const sent = httpRequest({
        port: Number(gpodder?.facts['port']),
        path: '/api/2/episodes/ann.json',
        method: 'POST',
        headers: { connection: 'close', 'content-length': length },
      });
      let arrived = 0;
      sent.on('response', (answer) => resolve([answer.statusCode, arrived]));
      sent.on('error', reject);
      sent.write(Buffer.alloc(length - 1));
      sent.write(Buffer.alloc(1), () => (arrived = length));
      sent.end();
    });
    expect(status).toEqual([401, length]);
  });
});

describe('Basic', () => {
  it('matches the name in any letter case, in header and path', async () => {
    await newUser();
    const name = ann.name.toUpperCase();
    const headers = { authorization: `bAsIc ${btoa(`${name}:${ann.secret}`)}` };
    expect((await fixture.request(devices.replace('{u}', name), { headers })).status).toBe(200);
  });

  it('with another name than the path is 400', async () => {
    await newUser();
    expect((await ann.request('/api/2/devices/bob.json')).status).toBe(400);
    expect((await ann.request('/api/2/auth/bob/login.json', { method: 'POST' })).status).toBe(400);
    expect((await ann.request('/subscriptions/bob.opml')).status).toBe(400);
  });

  it('can be replaced by a bearer token', async () => {
    await newUser();
    const headers = { authorization: `Bearer ${ann.secret}` };
    expect(
      (await fixture.request('/index.php/apps/gpoddersync/subscriptions', { headers })).status,
    ).toBe(200);
  });

  it('with read permission is 403 for a write; login is not a write', async () => {
    const reader = await fixture.user(['read:subscriptions']);
    const phone = '/api/2/devices/{u}/phone.json';
    expect((await reader.request(devices)).status).toBe(200);
    expect((await reader.request(login, { method: 'POST' })).status).toBe(200);
    expect((await reader.request(phone, { body: { caption: 'x' } })).status).toBe(403);
  });

  it('has a limit of wrong passwords by account and address; a valid one works', async () => {
    await newUser();
    const wrong = { authorization: `Basic ${btoa(`${ann.name}:wrong`)}` };
    const statuses = [];
    for (let count = 0; count < 61; count++)
      statuses.push((await ann.request(devices, { headers: wrong })).status);
    expect(statuses).toEqual([...Array<number>(60).fill(401), 429]);
    expect((await ann.request(devices)).status).toBe(200);
    const other = { authorization: `Basic ${btoa(`bob:wrong`)}` };
    expect((await ann.request(devices, { headers: other })).status).toBe(401);
  });
});

describe('a page of another site', () => {
  it.each([
    ['sec-fetch-site', 'cross-site'],
    ['sec-fetch-site', 'same-site'],
    ['origin', 'https://evil.example'],
  ])('cannot write: %s %s', async (name, value) => {
    const headers = { [name]: value };
    await newUser();
    expect((await ann.request('/api/2/devices/{u}/x.json', { body: {}, headers })).status).toBe(
      403,
    );
    expect((await ann.request(devices, { headers })).status).toBe(200);
  });

  it('can read with its own Authorization header, and not with stored credentials', async () => {
    await newUser();
    const { headers } = await ann.request(devices, { headers: { origin: 'https://web.example' } });
    expect([
      headers.get('access-control-allow-origin'),
      headers.get('access-control-allow-credentials'),
    ]).toEqual(['*', null]);
  });
});

describe('login', () => {
  it('is 200 with an empty body and a cookie for all paths', async () => {
    await newUser();
    const answer = await ann.request(login, {
      method: 'POST',
      headers: { 'content-type': 'plain/text' },
    });
    expect([answer.status, answer.text]).toEqual([200, '']);
    expect(answer.headers.get('set-cookie')).toMatch(
      /^sessionid=[\w-]{64}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=31536000$/,
    );
    expect(answer.headers.get('cache-control')).toBe('no-store');
  });

  it('by cookie works at every replica and after a restart, and sets no cookie', async () => {
    await (await newUser()).logIn();
    for (const replica of [0, 1]) {
      const answer = await ann.requestByCookie(login, { method: 'POST', replica });
      expect([answer.status, cookieOf(answer)]).toEqual([200, '']);
    }
    const url = `${(await fixture.startReplica()).url}${devices.replace('{u}', ann.name)}`;
    expect((await fetch(url, { headers: { cookie: ann.cookie } })).status).toBe(200);
  });

  it('with the cookie of another user is 400', async () => {
    await (await newUser()).logIn();
    expect(
      (await ann.requestByCookie('/api/2/auth/bob/login.json', { method: 'POST' })).status,
    ).toBe(400);
    expect(
      (await ann.requestByCookie('/api/2/auth/bob/logout.json', { method: 'POST' })).status,
    ).toBe(400);
  });
});

describe('a session', () => {
  it('starts with the first answer on any path, and not again with its cookie', async () => {
    await newUser();
    const first = await ann.request(devices);
    ann.cookie = cookieOf(first);
    expect(ann.cookie).not.toBe('');
    expect(cookieOf(await ann.request(devices, { headers: { cookie: ann.cookie } }))).toBe('');
    expect((await ann.requestByCookie(devices)).status).toBe(200);
  });

  it('of another app password or user is replaced', async () => {
    const first = await (await newUser()).logIn();
    const second = await fixture.withNewPassword(first);
    const other = await fixture.user();
    for (const user of [second, other]) {
      const answer = await user.request(devices, { headers: { cookie: first.cookie } });
      expect([answer.status, cookieOf(answer) === '']).toEqual([200, false]);
    }
  });

  it('ends permanently with logout, at every replica', async () => {
    await (await newUser()).logIn();
    for (const replica of [0, 1])
      expect((await ann.requestByCookie(devices, { replica })).status).toBe(200);
    const answer = await ann.requestByCookie(logout, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
    });
    expect([answer.status, answer.text]).toEqual([200, '']);
    expect(answer.headers.get('set-cookie')).toMatch(/^sessionid=; .*Max-Age=0/);
    expect((await ann.requestByCookie(devices)).status).toBe(401);
    await eventually(async () =>
      expect((await ann.requestByCookie(devices, { replica: 1 })).status).toBe(401),
    );
  });

  it('is counted when it starts and whenever it is refused', async () => {
    const counted = (outcome: string) =>
      fixture.metric(`podcast_sync_gpodder_sessions_total{outcome="${outcome}"}`);
    const before = [await counted('made'), await counted('refused')] as const;
    await (await newUser()).logIn();
    await ann.requestByCookie(logout, { method: 'POST' });
    expect((await ann.requestByCookie(devices)).status).toBe(401);
    expect((await ann.request(devices, { headers: { cookie: ann.cookie } })).status).toBe(200);
    // The last answer starts another session.
    expect([(await counted('made')) - before[0], (await counted('refused')) - before[1]]).toEqual([
      2, 2,
    ]);
  });

  it('is not necessary for logout', async () => {
    await newUser();
    expect((await ann.request(logout, { method: 'POST' })).status).toBe(200);
  });

  it.each([
    ['by Basic', () => ann.request.bind(ann)],
    ['by cookie', () => ann.requestByCookie.bind(ann)],
  ])('ends when the app revokes its app password %s', async (_, requestBy) => {
    await (await newUser()).logIn();
    const revoke = { method: 'DELETE', headers: { 'ocs-apirequest': 'true' } };
    const answer = await requestBy()('/ocs/v2.php/core/apppassword', revoke);
    expect([answer.status, answer.headers.get('set-cookie')]).toEqual([
      200,
      expect.stringMatching(/Max-Age=0/),
    ]);
    for (const replica of [0, 1]) {
      await eventually(async () =>
        expect((await ann.requestByCookie(devices, { replica })).status).toBe(401),
      );
      await eventually(async () =>
        expect((await ann.request(devices, { replica })).status).toBe(401),
      );
    }
  });
});
