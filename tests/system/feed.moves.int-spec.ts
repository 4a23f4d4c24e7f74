import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type AppProcess, AppStack, type Device, eventually } from '#testing';
import { FeedServer } from '../../libs/fetch/testing/feed.server.js';

let stack: AppStack;
let server: FeedServer;
let gateway: AppProcess;
let owner: pg.Client;

beforeAll(async () => {
  server = await FeedServer.open();
  stack = await AppStack.open({
    environment: { FEEDS: 'fetched', FEEDS_ALLOW: `localhost:${server.port}` },
  });
  [gateway] = (await stack.start(['gateway', 'subscription', 'episode'])) as [AppProcess];
  owner = new pg.Client({ connectionString: stack.postgres.url });
  await owner.connect();
});
afterAll(async () => {
  await owner?.end();
  await stack?.close();
  await server?.close();
});

interface Listed {
  subscriptions: {
    feed_url: string;
    guid: string;
    new_guid?: string;
    subscription_changed: string;
  }[];
}
const subscriptionsOf = async (device: Device) =>
  (await device.send<Listed>('GET', '/subscriptions')).body.subscriptions;

/** Ends the leases of a dead process, and makes feeds due. */
const expire = () =>
  owner.query(
    `UPDATE feed.tasks SET busy_until = '-infinity';
     UPDATE feed.fetches SET next_at = 'epoch', visited_at = '-infinity';
     UPDATE feed.lanes SET busy_until = '-infinity', next_at = 'epoch'`,
  );

it('a move reaches each follower once, though processes die, and no one who moved', async () => {
  const items = ['1', '2', '3'].map((guid) => `<item><guid>${guid}</guid></item>`).join('');
  const declared = randomUUID();
  const document = (more = '') => `<rss><channel><title>S</title>${more}${items}</channel></rss>`;
  const path = (name: string) => server.url(name, 'localhost');
  const [from, to, own] = [path('/from'), path('/to'), 'https://own.example/feed'];
  server.on('/from', (_, response) => response.end(document()));
  const target = document(`<podcast:guid>${declared}</podcast:guid>`);
  server.on('/to', (_, response) => response.end(target));

  const devices: Device[] = [];
  for (let n = 0; n < 60; n++) {
    const device = await stack.device(gateway);
    await device.send('POST', '/subscriptions', { body: { subscriptions: [{ feed_url: from }] } });
    devices.push(device);
  }
  const byHand = devices.slice(0, 20);
  const [first] = (await stack.start(['feed'])) as [AppProcess];
  const isFetched = async () => {
    await devices[59]?.send('GET', '/feeds');
    const { rows } = await owner.query(`SELECT FROM feed.feeds WHERE status = 'ok'`);
    expect(rows).toHaveLength(1);
  };
  await eventually(isFetched, { timeout: 60_000 });
  for (const device of byHand) {
    const [subscription] = await subscriptionsOf(device);
    const body = { new_feed_url: own };
    await device.send('PATCH', `/subscriptions/${subscription?.guid}`, { body });
  }
  server.on('/from', (_, response) => response.writeHead(301, { location: to }).end());
  await expire();
  const moved = async () => {
    const { rows } = await owner.query<{ count: number }>(
      'SELECT count(*)::int FROM subscription.subscriptions WHERE feed_url = $1',
      [to],
    );
    return rows[0]?.count ?? 0;
  };
  await eventually(async () => expect(await moved()).toBeGreaterThan(3), { timeout: 60_000 });
  await first.kill();
  expect(await moved()).toBeLessThan(40);
  await expire();
  await stack.start(['feed', 'feed']);
  await eventually(async () => expect(await moved()).toBe(40), { timeout: 60_000 });
  const isDone = async () => expect((await owner.query('SELECT FROM feed.tasks')).rows).toEqual([]);
  await eventually(isDone, { timeout: 60_000 });

  const all = await Promise.all(devices.map(subscriptionsOf));
  expect(all.map((list) => list.map(({ feed_url }) => feed_url))).toEqual(
    devices.map((device) => [byHand.includes(device) ? own : to]),
  );
  // Another visit changes nothing.
  await expire();
  await eventually(
    async () => {
      const { rows } = await owner.query(
        `SELECT FROM feed.fetches WHERE visited_at > now() - interval '1 hour'`,
      );
      expect(rows.length).toBeGreaterThan(0);
    },
    { timeout: 60_000 },
  );
  await eventually(isDone, { timeout: 60_000 });
  const stamps = (lists: Listed['subscriptions'][]) =>
    lists.map((list) => list.map(({ subscription_changed: stamp }) => stamp));
  expect(stamps(await Promise.all(devices.map(subscriptionsOf)))).toEqual(stamps(all));
  // The new URL is fetched as well, and its guid reaches those who moved there.
  const named = async () => {
    const { rows } = await owner.query<{ count: number }>(
      'SELECT count(*)::int FROM subscription.subscriptions WHERE guid = $1',
      [declared],
    );
    return rows[0]?.count ?? 0;
  };
  await eventually(async () => expect(await named()).toBe(40), { timeout: 60_000 });
});
