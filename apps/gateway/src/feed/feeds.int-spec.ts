import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { FeedEpisode, Podcast } from '#contracts';
import { type AppProcess, AppStack, type Device, type DeviceAnswer, eventually } from '#testing';
import { FeedServer } from '../../../../libs/fetch/testing/feed-server.js';
import { jpeg } from '../../../../libs/fetch/testing/pictures.js';

let stack: AppStack;
let server: FeedServer;
let gateway: AppProcess;
let device: Device;

beforeAll(async () => {
  server = await FeedServer.open();
  stack = await AppStack.open();
  const environment = { FEEDS: 'fetched', FEEDS_ALLOW: `127.0.0.1:${server.port}` };
  [gateway] = (await stack.start(['gateway', 'subscription', 'feed'], environment)) as [AppProcess];
  device = await stack.device(gateway);
});
afterAll(async () => {
  await stack?.close();
  await server?.close();
});

interface Page {
  per_page: number;
  next?: string;
  feeds: Podcast[];
}

async function subscribe(...urls: string[]): Promise<string[]> {
  const subscriptions = urls.map((feed_url) => ({ feed_url, guid: randomUUID() }));
  const { status } = await device.send('POST', '/subscriptions', { body: { subscriptions } });
  expect(status).toBe(200);
  return subscriptions.map(({ guid }) => guid);
}

describe('the feeds of a user', () => {
  it('have titles and episodes soon after the first request', async () => {
    const feed = server.on('/feed', (_, response) => {
      response.end(`<rss><channel><title>Show</title><item><guid>1</guid><title>One</title>
        <enclosure url="https://a.example/1.mp3"/></item></channel></rss>`);
    });
    const [guid = ''] = await subscribe(feed);
    await eventually(
      async () => {
        const { body } = await device.send<Page>('GET', '/v1/feeds');
        expect(body.feeds).toEqual([{ guid, feed_url: feed, status: 'ok', title: 'Show' }]);
      },
      { timeout: 60_000 },
    );
    const { body } = await device.send<{ episodes: FeedEpisode[] }>(
      'GET',
      `/feeds/episodes?guid=${guid}`,
    );
    const [episode] = body.episodes;
    expect(episode).toEqual({
      podcast_guid: guid,
      episode_guid: '1',
      title: 'One',
      enclosure_url: 'https://a.example/1.mp3',
    });
    expect(server.requests).toHaveLength(1);
    expect(server.requests[0]?.headers).not.toHaveProperty('referer');
    expect(server.requests[0]?.headers).not.toHaveProperty('cookie');
  });

  it('are pages with an ETag', async () => {
    await subscribe('https://a.example/1', 'https://a.example/2');
    const feeds: string[] = [];
    let path: string | undefined = '/feeds?per_page=1';
    while (path !== undefined) {
      const { body, headers }: DeviceAnswer<Page> = await device.send('GET', path);
      expect(body.per_page).toBe(1);
      feeds.push(...body.feeds.map(({ feed_url }) => feed_url));
      const etag = headers.get('etag') ?? '';
      const again = await device.send('GET', path, { headers: { 'if-none-match': etag } });
      expect(again.status).toBe(304);
      const any = await device.send('GET', path, { headers: { 'if-none-match': '*' } });
      expect(any.status).toBe(304);
      const other = { 'if-none-match': etag.replace('W/"', 'W/"0') };
      expect((await device.send('GET', path, { headers: other })).status).toBe(200);
      path = body.next && new URL(body.next).pathname + new URL(body.next).search;
    }
    expect(feeds).toHaveLength(3);
    expect(feeds).toEqual(expect.arrayContaining(['https://a.example/1', 'https://a.example/2']));
  });

  it('have pictures, which need no credential and never change', async () => {
    const image = server.on('/image', (_, response) => response.end(jpeg));
    const feed = server.on('/pictured', (_, response) => {
      response.end(`<rss><channel><image><url>${image}</url></image></channel></rss>`);
    });
    await subscribe(feed);
    const artwork = await eventually(
      async () => {
        const { body } = await device.send<Page>('GET', '/feeds');
        const row = body.feeds.find(({ feed_url }) => feed_url === feed);
        expect(row?.artwork).toMatch(/\/feeds\/artwork\/[\da-f-]{36}$/);
        return row?.artwork ?? '';
      },
      { timeout: 60_000 },
    );
    const answer = await fetch(artwork);
    expect([answer.status, Object.fromEntries(answer.headers)]).toMatchObject([
      200,
      {
        'content-type': 'image/webp',
        'cache-control': 'public, max-age=31536000, immutable',
        'content-security-policy': "default-src 'none'; sandbox",
        'cross-origin-resource-policy': 'cross-origin',
        'x-content-type-options': 'nosniff',
      },
    ]);
    expect(Buffer.from(await answer.arrayBuffer()).toString('latin1', 8, 12)).toBe('WEBP');
    for (const id of [randomUUID(), 'x'])
      expect((await fetch(new URL(id, artwork))).status).toBe(404);
  });

  it('can be refreshed', async () => {
    const guids = [randomUUID()];
    const sent = (body: unknown) => device.send('POST', '/feeds/refresh', { body });
    expect(await sent({ guids })).toMatchObject({ status: 202, body: { guids } });
    expect((await sent({ guids: ['x'] })).status).toBe(405);
    expect((await sent({})).status).toBe(405);
  });

  it('can be shown before a subscription, 20 times per minute', async () => {
    const feed = server.on('/shown', (_, response) =>
      response.end('<rss><channel><title>Shown</title></channel></rss>'),
    );
    const preview = (feed_url: string) =>
      device.send('POST', '/feeds/preview', { body: { feed_url } });
    expect((await preview(feed)).body).toEqual({ status: 'ok', title: 'Shown' });
    for (const url of ['ftp://a.example/', 'a.example', ''])
      expect((await preview(url)).status).toBe(405);
    const all = Array.from({ length: 20 }, () => preview('https://ann:secret@a.example/'));
    const answers = await Promise.all(all);
    const limited = answers.filter(({ status }) => status === 429);
    expect(limited).toHaveLength(1);
    expect(limited[0]?.headers.has('retry-after')).toBe(true);
  });

  it.each([
    ['/feeds/episodes', 405],
    ['/feeds/episodes?guid=x', 405],
    [`/feeds/episodes?guid=${randomUUID()}`, 404],
    ['/feeds/other', 404],
  ])('fail for %s: %i', async (path, status) => {
    expect((await device.send('GET', path)).status).toBe(status);
  });

  it('are listed as a capability', async () => {
    const { body } = await device.send('GET', '/capabilities');
    expect(body).toHaveProperty(['urn:podcast-sync:feeds']);
    expect(body).toHaveProperty(['urn:podcast-sync:import']);
  });

  it('are 404 and no capability while FEEDS is off', async () => {
    const [other] = (await stack.start(['gateway'])) as [AppProcess];
    const user = await stack.device(other);
    const { body } = await user.send('GET', '/capabilities');
    expect(body).toHaveProperty(['urn:podcast-sync:polling']);
    expect(body).not.toHaveProperty(['urn:podcast-sync:feeds']);
    expect(body).not.toHaveProperty(['urn:podcast-sync:import']);
    for (const path of ['/feeds', '/feeds/import', `/feeds/episodes?guid=${randomUUID()}`])
      expect((await user.send('GET', path)).status).toBe(404);
  });
});
