import { request as httpRequest } from 'node:http';
import { eventually } from '#testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cookieOf, GpodderWorld, type Person } from '../../testing/gpodder.world.js';

let world: GpodderWorld;
let ann: Person;
beforeAll(async () => {
  world = await GpodderWorld.open({}, 2);
});
afterAll(() => world.close());
const person = async () => (ann = await world.person());

const login = '/api/2/auth/{u}/login.json';
const logout = '/api/2/auth/{u}/logout.json';
const devices = '/api/2/devices/{u}.json';

describe('a request without a usable credential', () => {
  it.each([
    '/api/2/devices/ann.json',
    '/nothing',
    '/api/2/subscriptions/ann/phone.json',
    '/suggestions/9.json',
  ])('is answered with 401, Basic and no cookie: %s', async (path) => {
    const answer = await world.ask(path);
    expect([answer.status, answer.headers.get('www-authenticate'), cookieOf(answer)]).toEqual([
      401,
      'Basic realm="Podcast Sync"',
      '',
    ]);
    expect(answer.json()).toEqual({ code: '401', message: 'User not authorized' });
  });

  it.each([
    ['a password that is no app password', (p: Person) => `Basic ${btoa(`${p.name}:secret`)}`],
    [
      'an app password of nobody',
      (p: Person) => `Basic ${btoa(`${p.name}:pst_AAAAAAAAAAAAAAAAAAAAAAAAAAAA`)}`,
    ],
    ['the name of somebody else', (p: Person) => `Basic ${btoa(`bob:${p.secret}`)}`],
    ['no colon', (p: Person) => `Basic ${btoa(p.secret)}`],
    ['another scheme', (p: Person) => `Digest ${p.secret}`],
    ['nothing', () => ''],
  ])('is refused with %s, also beside a valid cookie', async (_, authorization) => {
    const someone = await (await person()).logIn();
    const headers = { authorization: authorization(someone), cookie: someone.cookie };
    const answer = await world.ask(devices.replace('{u}', someone.name), { headers });
    expect([answer.status, cookieOf(answer)]).toEqual([401, '']);
  });

  it('is answered once its body has arrived, as urllib reads nothing before, on a connection that it closes', async () => {
    const [gpodder] = world.gpodder;
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
  it('names the user in any letter case, in header and path', async () => {
    await person();
    const name = ann.name.toUpperCase();
    const headers = { authorization: `bAsIc ${btoa(`${name}:${ann.secret}`)}` };
    expect((await world.ask(devices.replace('{u}', name), { headers })).status).toBe(200);
  });

  it('of another user than the path is 400', async () => {
    await person();
    expect((await ann.ask('/api/2/devices/bob.json')).status).toBe(400);
    expect((await ann.ask('/api/2/auth/bob/login.json', { method: 'POST' })).status).toBe(400);
    expect((await ann.ask('/subscriptions/bob.opml')).status).toBe(400);
  });

  it('as a bearer is the same', async () => {
    await person();
    const headers = { authorization: `Bearer ${ann.secret}` };
    expect((await world.ask('/index.php/apps/gpoddersync/subscriptions', { headers })).status).toBe(
      200,
    );
  });

  it('that may only read is 403 for a write, and not 401; logging in is none', async () => {
    const reader = await world.person(['read:subscriptions']);
    const phone = '/api/2/devices/{u}/phone.json';
    expect((await reader.ask(devices)).status).toBe(200);
    expect((await reader.ask(login, { method: 'POST' })).status).toBe(200);
    expect((await reader.ask(phone, { body: { caption: 'x' } })).status).toBe(403);
  });

  it('is limited by account and address once it was wrong often, and a right one is not', async () => {
    await person();
    const wrong = { authorization: `Basic ${btoa(`${ann.name}:wrong`)}` };
    const statuses = [];
    for (let count = 0; count < 61; count++)
      statuses.push((await ann.ask(devices, { headers: wrong })).status);
    expect(statuses).toEqual([...Array<number>(60).fill(401), 429]);
    expect((await ann.ask(devices)).status).toBe(200);
    const other = { authorization: `Basic ${btoa(`bob:wrong`)}` };
    expect((await ann.ask(devices, { headers: other })).status).toBe(401);
  });
});

describe('a page of another site', () => {
  it.each([
    ['sec-fetch-site', 'cross-site'],
    ['sec-fetch-site', 'same-site'],
    ['origin', 'https://evil.example'],
  ])('makes no browser change anything: %s %s', async (name, value) => {
    const headers = { [name]: value };
    await person();
    expect((await ann.ask('/api/2/devices/{u}/x.json', { body: {}, headers })).status).toBe(403);
    expect((await ann.ask(devices, { headers })).status).toBe(200);
  });

  it('may read with a header of its own, and never with what the browser remembers', async () => {
    await person();
    const { headers } = await ann.ask(devices, { headers: { origin: 'https://web.example' } });
    expect([
      headers.get('access-control-allow-origin'),
      headers.get('access-control-allow-credentials'),
    ]).toEqual(['*', null]);
  });
});

describe('login', () => {
  it('answers with 200, an empty body and a cookie for all paths', async () => {
    await person();
    const answer = await ann.ask(login, {
      method: 'POST',
      headers: { 'content-type': 'plain/text' },
    });
    expect([answer.status, answer.text]).toEqual([200, '']);
    expect(answer.headers.get('set-cookie')).toMatch(
      /^sessionid=[\w-]{64}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=31536000$/,
    );
    expect(answer.headers.get('cache-control')).toBe('no-store');
  });

  it('with the cookie alone says that it still counts, at every replica and after a restart, and sets no other', async () => {
    await (await person()).logIn();
    for (const replica of [0, 1]) {
      const answer = await ann.askByCookie(login, { method: 'POST', replica });
      expect([answer.status, cookieOf(answer)]).toEqual([200, '']);
    }
    const url = `${(await world.start()).url}${devices.replace('{u}', ann.name)}`;
    expect((await fetch(url, { headers: { cookie: ann.cookie } })).status).toBe(200);
  });

  it('with the cookie of somebody else is 400', async () => {
    await (await person()).logIn();
    expect((await ann.askByCookie('/api/2/auth/bob/login.json', { method: 'POST' })).status).toBe(
      400,
    );
    expect((await ann.askByCookie('/api/2/auth/bob/logout.json', { method: 'POST' })).status).toBe(
      400,
    );
  });
});

describe('a session', () => {
  it('begins with the first answer on whatever path, and not again while its cookie comes back', async () => {
    await person();
    const first = await ann.ask(devices);
    ann.cookie = cookieOf(first);
    expect(ann.cookie).not.toBe('');
    expect(cookieOf(await ann.ask(devices, { headers: { cookie: ann.cookie } }))).toBe('');
    expect((await ann.askByCookie(devices)).status).toBe(200);
  });

  it('of another app password is replaced, and of another user does not matter', async () => {
    const first = await (await person()).logIn();
    const second = await world.again(first);
    const other = await world.person();
    for (const one of [second, other]) {
      const answer = await one.ask(devices, { headers: { cookie: first.cookie } });
      expect([answer.status, cookieOf(answer) === '']).toEqual([200, false]);
    }
  });

  it('ends with logout, at every replica and for good', async () => {
    await (await person()).logIn();
    for (const replica of [0, 1])
      expect((await ann.askByCookie(devices, { replica })).status).toBe(200);
    const answer = await ann.askByCookie(logout, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
    });
    expect([answer.status, answer.text]).toEqual([200, '']);
    expect(answer.headers.get('set-cookie')).toMatch(/^sessionid=; .*Max-Age=0/);
    expect((await ann.askByCookie(devices)).status).toBe(401);
    await eventually(async () =>
      expect((await ann.askByCookie(devices, { replica: 1 })).status).toBe(401),
    );
  });

  it('is counted once it is made, and each time that it is refused', async () => {
    const counted = (outcome: string) =>
      world.counted(`podcast_sync_gpodder_sessions_total{outcome="${outcome}"}`);
    const before = [await counted('made'), await counted('refused')] as const;
    await (await person()).logIn();
    await ann.askByCookie(logout, { method: 'POST' });
    expect((await ann.askByCookie(devices)).status).toBe(401);
    expect((await ann.ask(devices, { headers: { cookie: ann.cookie } })).status).toBe(200);
    // The last answer starts another session.
    expect([(await counted('made')) - before[0], (await counted('refused')) - before[1]]).toEqual([
      2, 2,
    ]);
  });

  it('need not be there for logout', async () => {
    await person();
    expect((await ann.ask(logout, { method: 'POST' })).status).toBe(200);
  });

  it.each([
    ['by itself', () => ann.ask.bind(ann)],
    ['by the cookie alone', () => ann.askByCookie.bind(ann)],
  ])('ends with its app password, which an app gives back %s', async (_, by) => {
    await (await person()).logIn();
    const back = { method: 'DELETE', headers: { 'ocs-apirequest': 'true' } };
    const answer = await by()('/ocs/v2.php/core/apppassword', back);
    expect([answer.status, answer.headers.get('set-cookie')]).toEqual([
      200,
      expect.stringMatching(/Max-Age=0/),
    ]);
    for (const replica of [0, 1]) {
      await eventually(async () =>
        expect((await ann.askByCookie(devices, { replica })).status).toBe(401),
      );
      await eventually(async () => expect((await ann.ask(devices, { replica })).status).toBe(401));
    }
  });
});
