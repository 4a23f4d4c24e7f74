import assert from 'node:assert/strict';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AppProcess, AppStack, type Device, eventually } from '#testing';
import { tracesOf } from '../../apps/deletion-worker/testing/erased-user.js';
import { FeedServer } from '../../libs/fetch/testing/feed-server.js';
import { feed, login, password, serveAccount } from '../../libs/fetch/testing/source-account.js';

let stack: AppStack;
let server: FeedServer;
/** A server in the private network that no exception names. */
let unlisted: Server;
let connections = 0;
let gateway: AppProcess;
let feeds: AppProcess;
let owner: pg.Client;
let monitor: Socket;
/** All commands that Redis received. */
let commands = '';

beforeAll(async () => {
  server = await FeedServer.open();
  unlisted = createServer((socket) => {
    connections += 1;
    socket.destroy();
  }).listen(0, '127.0.0.1');
  stack = await AppStack.open({
    environment: { FEEDS: 'fetched', FEEDS_ALLOW: `127.0.0.1:${server.port}` },
  });
  [gateway, feeds] = (await stack.start(['gateway', 'feed', 'subscription', 'episode'])) as [
    AppProcess,
    AppProcess,
  ];
  owner = new pg.Client({ connectionString: stack.postgres.url });
  await owner.connect();
  const { port, hostname, password: secret } = new URL(stack.redis.url);
  monitor = connect(Number(port), hostname);
  monitor.on('data', (data: Buffer) => (commands += data.toString('latin1')));
  monitor.write(`AUTH ${secret}\r\nMONITOR\r\n`);
  await eventually(() => assert.match(commands, /^\+OK\r\n\+OK\r\n/));
});
afterAll(async () => {
  monitor?.destroy();
  await owner?.end();
  await stack?.close();
  await server?.close();
  unlisted?.close();
});

const start = (device: Device, source: string, sent: object = {}) =>
  device.send('POST', '/feeds/import', { body: { source, login, password, ...sent } });
const read = (device: Device) => device.send('GET', '/feeds/import');

/** Waits for the end of an import. Returns the answer. */
async function ended(device: Device): Promise<Record<string, unknown>> {
  await eventually(async () => expect((await read(device)).body['state']).not.toBe('running'), {
    timeout: 30_000,
  });
  return (await read(device)).body;
}

const episodesOf = async (device: Device) =>
  (await device.send<{ episodes: object[] }>('GET', '/episodes')).body.episodes;

const whole = { state: 'finished', subscriptions: 2, favorites: 1, skipped: 2 };

describe('an import from another server', () => {
  it('writes subscriptions, actions and favourites; a repetition changes nothing', async () => {
    const ann = await stack.device(gateway);
    const account = serveAccount(server, '/whole');
    const started = await start(ann, account.url);
    expect(started).toMatchObject({ status: 202, body: { source: `${account.url}/`, login } });
    expect(await ended(ann)).toEqual({
      source: `${account.url}/`,
      login,
      ...whole,
      actions: 2,
      skipped_entries: [
        { kind: 'feed', entry: 'nonsense', reason: 'unusable_podcast', count: 1 },
        {
          kind: 'action',
          entry: JSON.stringify({ podcast: feed(0) }),
          reason: 'missing_key',
          count: 1,
        },
      ],
    });
    expect((await ann.send('GET', '/subscriptions')).body).toMatchObject({
      subscriptions: [{ feed_url: feed(0), title: 'Zero' }, { feed_url: feed(1) }],
    });
    const episodes = await episodesOf(ann);
    expect(episodes).toHaveLength(2);
    const before = (await ann.send('GET', '/episodes')).headers.get('sync-timestamp');
    await start(ann, account.url);
    expect(await ended(ann)).toMatchObject({ ...whole, actions: 2 });
    const after = await ann.send('GET', `/episodes?since=${before}`);
    expect(after.body).toMatchObject({ episodes: [] });
  });

  it('continues after the death of its process, with the password again', async () => {
    const ann = await stack.device(gateway);
    const account = serveAccount(server, '/killed');
    let isWaiting = false;
    // The process dies after it has saved the actions, and before the favourites.
    server.on('/killed/api/2/favorites/ann.json', () => {
      isWaiting = true;
    });
    await start(ann, account.url);
    await eventually(() => expect(isWaiting).toBe(true));
    const cursor = 'SELECT cursor FROM feed.imports WHERE user_id = $1';
    await eventually(async () =>
      expect((await owner.query(cursor, [ann.user])).rows).toEqual([
        { cursor: expect.stringContaining('"since":7') as string },
      ]),
    );
    await feeds.kill();
    await owner.query(`UPDATE feed.imports SET seen_at = now() - interval '1 min'`);
    [feeds] = (await stack.start(['feed'])) as [AppProcess];
    expect(await ended(ann)).toMatchObject({ state: 'failed', fault: 'interrupted' });
    const again = serveAccount(server, '/killed');
    await start(ann, again.url);
    expect(await ended(ann)).toMatchObject({ ...whole, actions: 0, skipped: 1 });
    expect(again.requests.filter((path) => path.includes('/episodes/'))).toEqual([
      '/killed/api/2/episodes/ann.json?since=7',
    ]);
    expect(await episodesOf(ann)).toHaveLength(2);
  });

  it('that the user stops ends', async () => {
    const ann = await stack.device(gateway);
    const account = serveAccount(server, '/stopped');
    account.blocked = new Promise(() => {});
    await start(ann, account.url);
    await eventually(() => expect(account.requests).toHaveLength(1));
    expect((await ann.send('DELETE', '/feeds/import')).body).toMatchObject({ state: 'stopped' });
    await eventually(() => expect(server.open).toBe(0));
    expect(await ended(ann)).toMatchObject({ state: 'stopped', subscriptions: 0 });
  });
});

describe('an import fails, and names the fault', () => {
  it.each([
    ['a wrong password', 'credentials', () => serveAccount(server, '/wrong').url, 'wrong'],
    ['a server of another protocol', 'unsupported', () => server.url('/nothing'), undefined],
    [
      'a list that takes too much memory',
      'too_large',
      () => {
        const path = '/large/api/2/devices/ann.json';
        server.on(path, (_, response) => response.end(`[${'{},'.repeat(250_000)}{}]`));
        return server.url('/large');
      },
      undefined,
    ],
    ['an unlisted private address', 'refused', () => unlistedUrl('https'), undefined],
    ['http to a public address', 'refused', () => 'http://192.0.2.1/', undefined],
    [
      'a redirect to another origin',
      'redirected',
      () => {
        const location = unlistedUrl('http');
        const path = '/moved/api/2/devices/ann.json';
        server.on(path, (_, response) => response.writeHead(302, { location }).end());
        return server.url('/moved');
      },
      undefined,
    ],
  ])('with %s', async (_, fault, source, wrong) => {
    const ann = await stack.device(gateway);
    await start(ann, source(), wrong === undefined ? {} : { password: wrong });
    expect(await ended(ann)).toMatchObject({ state: 'failed', fault, subscriptions: 0 });
    expect(connections).toBe(0);
  });

  const unlistedUrl = (scheme: string) =>
    `${scheme}://127.0.0.1:${(unlisted.address() as AddressInfo).port}/`;
});

it('no password of another server is stored or logged', async () => {
  await eventually(() => expect(commands).toContain('feed.unlock_import'));
  expect(commands).toContain(server.url('/whole'));
  const forms = [password, Buffer.from(`${login}:${password}`).toString('base64')];
  for (const form of forms)
    for (const text of [commands, gateway.output, feeds.output])
      expect(text.includes(form)).toBe(false);
  expect(await tracesOf(owner, forms)).toEqual({});
});
