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
    environment: { FEEDS: 'fetched', FEEDS_ALLOW: `127.0.0.1:${server.port}` },
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
  const [first] = (await stack.start(['feed'])) as [AppProcess];
  await eventually(() => expect(requests).toBe(1), { timeout: 60_000 });
  await first.kill();
  // The leases of the dead process expire.
  const expire = () =>
    owner.query(
      `UPDATE feed.lanes SET busy_until = '-infinity', next_at = '-infinity';
       UPDATE feed.tasks SET busy_until = '-infinity'`,
    );
  await expire();
  const [second] = (await stack.start(['feed'])) as [AppProcess];
  const described = async () => {
    const { rows } = await owner.query<{ count: number }>(
      `SELECT count(*)::int FROM episode.episodes WHERE title = 'One'`,
    );
    return rows[0]?.count ?? 0;
  };
  await eventually(async () => expect(await described()).toBeGreaterThan(3), { timeout: 60_000 });
  await second.kill();
  expect(await described()).toBeLessThan(60);
  await expire();
  await stack.start(['feed', 'feed']);
  await eventually(async () => expect(await described()).toBe(60), { timeout: 60_000 });
  await eventually(async () => {
    const { rows } = await owner.query('SELECT FROM feed.tasks');
    expect(rows).toEqual([]);
  });
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
