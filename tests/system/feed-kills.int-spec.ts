import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { type AppProcess, AppStack, type Device, eventually } from '#testing';
import { FeedServer } from '../../libs/fetch/testing/feed-server.js';

/** Number of followers. Each visit is followed by a pause of 50 ms. */
const followers = process.env.TEST_FULL ? 1_000 : 60;
const options = { timeout: followers * 1_000 };

let stack: AppStack;
let server: FeedServer;
let gateway: AppProcess;
let owner: pg.Client;
/** Feed services of the current test. */
const feeds: AppProcess[] = [];

beforeAll(async () => {
  server = await FeedServer.open();
  stack = await AppStack.open({
    environment: {
      FEEDS: 'fetched',
      FEEDS_ALLOW: `127.0.0.1:${server.port},localhost:${server.port}`,
    },
  });
  [gateway] = (await stack.start(['gateway', 'subscription', 'episode'])) as [AppProcess];
  owner = new pg.Client({ connectionString: stack.postgres.url });
  await owner.connect();
});
afterEach(async () => {
  for (const each of feeds.splice(0)) await each.kill();
  await owner.query(
    'TRUNCATE feed.feeds, feed.fetches, feed.lanes, feed.tasks, feed.touched CASCADE',
  );
});
afterAll(async () => {
  await owner?.end();
  await stack?.close();
  await server?.close();
});

/** Starts a feed service. */
async function startFeeds(): Promise<AppProcess> {
  const [started] = (await stack.start(['feed'])) as [AppProcess];
  feeds.push(started);
  return started;
}

/** Ends the leases of a dead process. */
const expire = () =>
  owner.query(
    `UPDATE feed.tasks SET busy_until = '-infinity';
     UPDATE feed.lanes SET busy_until = '-infinity', next_at = 'epoch'`,
  );

/**
 * Makes feeds due, and their followers, and ends leases. The feeds are first: a process that claims
 * a lane without a due feed would put the lane off until the next one.
 */
const makeDue = async () => {
  await owner.query(`UPDATE feed.fetches SET next_at = 'epoch', visited_at = '-infinity'`);
  await expire();
};

/** Returns the number of rows that match. */
async function count(from: string, values: unknown[] = []): Promise<number> {
  const { rows } = await owner.query<{ count: number }>(
    `SELECT count(*)::int FROM ${from}`,
    values,
  );
  return rows[0]?.count ?? 0;
}

const isDone = () => eventually(async () => expect(await count('feed.tasks')).toBe(0), options);

/** Subscribes a new user to a feed, and uploads an episode without a title. */
async function listener(feed_url: string): Promise<Device> {
  const device = await stack.device(gateway);
  const podcast_guid = randomUUID();
  const subscriptions = [{ feed_url, guid: podcast_guid }];
  await device.send('POST', '/subscriptions', { body: { subscriptions } });
  const played_status = { value: true, timestamp: '2026-01-01T00:00' };
  const episodes = [{ podcast_guid, episode_guid: '1', played_status }];
  const { status } = await device.send('POST', '/episodes', { body: { episodes } });
  expect(status).toBe(200);
  return device;
}

async function titlesOf(device: Device): Promise<string[]> {
  const { body } = await device.send<{ episodes: { title: string }[] }>('GET', '/episodes');
  return body.episodes.map(({ title }) => title);
}

it('titles reach each user once, though processes die during fetch and visits', async () => {
  let requests = 0;
  const feed = server.on('/feed', (_, response) => {
    requests += 1;
    // The first process dies during this request.
    if (requests > 1)
      response.end(
        '<rss><channel><title>S</title><item><guid>1</guid><title>One</title></item></channel></rss>',
      );
  });
  const devices: Device[] = [];
  for (let n = 0; n < 60; n++) devices.push(await listener(feed));
  const first = await startFeeds();
  await eventually(() => expect(requests).toBe(1), { timeout: 60_000 });
  await first.kill();
  await expire();
  const second = await startFeeds();
  const described = () => count(`episode.episodes WHERE title = 'One'`);
  await eventually(async () => expect(await described()).toBeGreaterThan(3), { timeout: 60_000 });
  await second.kill();
  expect(await described()).toBeLessThan(60);
  await expire();
  await Promise.all([startFeeds(), startFeeds()]);
  await eventually(async () => expect(await described()).toBe(60), { timeout: 60_000 });
  await isDone();
  expect(await Promise.all(devices.map(titlesOf))).toEqual(devices.map(() => ['One']));
  // Once for each user: the upload and the title.
  const { rows } = await owner.query<{ most: number }>(
    `SELECT max(count)::int AS most FROM (
       SELECT count(*) FROM sync.request WHERE user_id IN (
         SELECT user_id FROM episode.episodes
       ) GROUP BY user_id
     ) r`,
  );
  expect(rows[0]?.most).toBeLessThanOrEqual(4);
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
async function subscriptionsOfAll(devices: readonly Device[]) {
  const lists: Listed['subscriptions'][] = [];
  for (const device of devices) lists.push(await subscriptionsOf(device));
  return lists;
}

it(
  'a move reaches each follower once, though processes die, and no one who moved',
  { timeout: 10 * options.timeout },
  async () => {
    const items = ['1', '2', '3'].map((guid) => `<item><guid>${guid}</guid></item>`).join('');
    const declared = randomUUID();
    const document = (more = '') => `<rss><channel><title>S</title>${more}${items}</channel></rss>`;
    const path = (name: string) => server.url(name, 'localhost');
    const [from, to, own] = [path('/from'), path('/to'), 'https://own.example/feed'];
    server.on('/from', (_, response) => response.end(document()));
    const target = document(`<podcast:guid>${declared}</podcast:guid>`);
    server.on('/to', (_, response) => response.end(target));

    const devices: Device[] = [];
    for (let n = 0; n < followers; n++) {
      const device = await stack.device(gateway);
      await device.send('POST', '/subscriptions', {
        body: { subscriptions: [{ feed_url: from }] },
      });
      devices.push(device);
    }
    const byHand = devices.slice(0, followers / 3);
    const others = followers - byHand.length;
    const first = await startFeeds();
    const isFetched = async () => {
      await devices.at(-1)?.send('GET', '/feeds');
      expect(await count(`feed.feeds WHERE status = 'ok'`)).toBe(1);
    };
    await eventually(isFetched, { timeout: 60_000 });
    for (const device of byHand) {
      const [subscription] = await subscriptionsOf(device);
      const body = { new_feed_url: own };
      await device.send('PATCH', `/subscriptions/${subscription?.guid}`, { body });
    }
    server.on('/from', (_, response) => response.writeHead(301, { location: to }).end());
    await makeDue();
    const moved = () => count('subscription.subscriptions WHERE feed_url = $1', [to]);
    await eventually(async () => expect(await moved()).toBeGreaterThan(followers / 20), options);
    await first.kill();
    expect(await moved()).toBeLessThan(others);
    await makeDue();
    await Promise.all([startFeeds(), startFeeds()]);
    await eventually(async () => expect(await moved()).toBe(others), options);
    await isDone();

    const all = await subscriptionsOfAll(devices);
    expect(all.map((list) => list.map(({ feed_url }) => feed_url))).toEqual(
      devices.map((device) => [byHand.includes(device) ? own : to]),
    );
    // Another visit changes nothing.
    await makeDue();
    const visited = () => count(`feed.fetches WHERE visited_at > now() - interval '1 hour'`);
    await eventually(async () => expect(await visited()).toBeGreaterThan(0), { timeout: 60_000 });
    await isDone();
    const stamps = (lists: Listed['subscriptions'][]) =>
      lists.map((list) => list.map(({ subscription_changed: stamp }) => stamp));
    expect(stamps(await subscriptionsOfAll(devices))).toEqual(stamps(all));
    // The new URL is fetched as well, and its guid reaches those who moved there.
    const named = () => count('subscription.subscriptions WHERE guid = $1', [declared]);
    await eventually(async () => expect(await named()).toBe(others), options);
  },
);
