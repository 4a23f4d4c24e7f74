import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '#testing';
import { GpodderFixture, type GpodderUser } from '../../apps/gpodder/testing/gpodder.fixture.js';
import { decodedUrls, equalUrls, inBothOrders } from '../../libs/contracts/testing/url-vectors.js';

let fixture: GpodderFixture;
beforeAll(async () => {
  fixture = await GpodderFixture.open();
});
afterAll(() => fixture.close());

const nextcloud = '/index.php/apps/gpoddersync';
const at = '2026-01-01T10:00:00';

interface Doors {
  device: Device;
  person: GpodderUser;
}

async function opened(): Promise<Doors> {
  const person = await fixture.user();
  const device = await fixture.stack.device(fixture.stack.app('gateway'), person.userId);
  return { person, device };
}

async function accepted(answer: Promise<{ status: number }>): Promise<void> {
  expect((await answer).status).toBe(200);
}

const escaped = (url: string) => url.replaceAll('&', '&amp;');
const opml = (url: string) =>
  `<opml version="2.0"><head/><body><outline type="rss" xmlUrl="${escaped(url)}"/></body></opml>`;

/** Each kind of equality once: `feed-url.spec.ts` tests all pairs. */
const pairs = process.env.TEST_FULL
  ? [...equalUrls, ...decodedUrls]
  : ([equalUrls[7], decodedUrls[0]] as const);

/** Each way by which a feed URL arrives. */
const subscribing: Record<string, (doors: Doors, url: string) => Promise<void>> = {
  'POST /subscriptions': ({ device }, url) =>
    accepted(
      device.send('POST', '/subscriptions', { body: { subscriptions: [{ feed_url: url }] } }),
    ),
  'OPML import': async ({ device }, url) => {
    const headers = { authorization: `Bearer ${device.token}`, 'content-type': 'text/x-opml' };
    const port = String(fixture.stack.app('gateway').facts['port']);
    const to = `http://127.0.0.1:${port}/subscriptions/opml`;
    await accepted(fetch(to, { method: 'POST', headers, body: opml(url) }));
  },
  'gpodder subscriptions': ({ person }, url) =>
    accepted(
      person.request('/api/2/subscriptions/{u}/phone.json', { body: { add: [url], remove: [] } }),
    ),
  'gpodder actions': ({ person }, url) =>
    accepted(
      person.request('/api/2/episodes/{u}.json', {
        body: [{ podcast: url, episode: url, action: 'play', position: 1, timestamp: at }],
      }),
    ),
  'Nextcloud subscriptions': ({ person }, url) =>
    accepted(
      person.request(`${nextcloud}/subscription_change/create`, {
        body: { add: [url], remove: [] },
      }),
    ),
  'Nextcloud actions': ({ person }, url) =>
    accepted(
      person.request(`${nextcloud}/episode_action/create`, {
        body: [
          {
            podcast: url,
            episode: url,
            action: 'PLAY',
            position: 1,
            started: 0,
            total: 9,
            timestamp: at,
          },
        ],
      }),
    ),
};

describe.each(Object.keys(subscribing))('equal URLs by %s', (name) => {
  it.each(inBothOrders(pairs))(
    'are one podcast with one episode, through all doors: %s, %s',
    async (first, second) => {
      const doors = await opened();
      await subscribing[name]?.(doors, first);
      for (const subscribe of Object.values(subscribing)) await subscribe(doors, second);
      const list = await doors.device.send<{ subscriptions: { feed_url: string; guid: string }[] }>(
        'GET',
        '/subscriptions',
      );
      expect(list.body.subscriptions).toMatchObject([{ feed_url: first, is_subscribed: true }]);
      const [subscription] = list.body.subscriptions;
      const body = {
        episodes: [first, second].map((url) => ({
          podcast_guid: subscription?.guid,
          enclosure_url: url,
        })),
      };
      await accepted(doors.device.send('POST', '/episodes', { body }));
      expect((await doors.device.send('GET', '/episodes')).body['total']).toBe(1);
    },
  );
});
