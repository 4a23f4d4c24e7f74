import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Failure } from '#contracts';
import { AddressGuard, Fetcher } from '#fetch';
import { createLog } from '#runtime';
import { eventually } from '#testing';
import { type FeedContext, openFeeds } from '../../testing/feed-context.js';
import { jpeg } from '../../../../libs/fetch/testing/pictures.js';
import { Thumbnailer } from '../artwork/thumbnailer.js';
import { PreviewLoop } from './preview-loop.js';

let context: FeedContext;
let thumbnailer: Thumbnailer;
let loop: PreviewLoop;
beforeAll(async () => {
  context = await openFeeds();
  const { previews: repository, work, server } = context;
  thumbnailer = new Thumbnailer();
  const guard = new AddressGuard([`127.0.0.1:${server.port}`]);
  loop = new PreviewLoop({
    repository,
    work,
    fetcher: new Fetcher({ userAgent: 'Test', guard, limits: { totalMs: 2_000 } }),
    thumbnailer,
    log: createLog('feed', 'silent'),
    appleUrl: server.url('/apple'),
  });
});
afterEach(() => context.owner.query('DELETE FROM feed.previews'));
afterAll(async () => {
  thumbnailer?.close();
  await context?.close();
});

/** Requests a preview; a replica with internet access fetches the feed. */
async function preview(feedUrl: string) {
  const answer = context.service.preview({ feedUrl });
  await eventually(async () => expect(await loop.startDue()).toBe(1));
  return answer;
}

const serve = (path: string, body: string | Uint8Array, status = 200) =>
  context.server.on(path, (_, response) => response.writeHead(status).end(body));

describe('a preview', () => {
  it('is the title and the picture of a feed, and stores nothing', async () => {
    const image = serve('/image', jpeg);
    const items = '<item><guid>1</guid></item>'.repeat(100_000);
    const feed = serve(
      '/feed',
      `<rss><channel><title>Show</title><description>&lt;b&gt;All&lt;/b&gt;</description>
       <image><url>${image}</url></image>${items}</channel></rss>`,
    );
    expect(await preview(feed)).toEqual({
      status: 'ok',
      title: 'Show',
      description: 'All',
      picture: expect.stringMatching(/^data:image\/webp;base64,UklGR/) as string,
    });
    expect((await context.owner.query('SELECT FROM feed.feeds')).rows).toEqual([]);
  });

  it('fetches the feed again, even if another user follows it', async () => {
    const feed = serve('/known', '<rss><channel><title>Known</title></channel></rss>');
    const before = context.server.requests.length;
    for (let n = 0; n < 2; n++) expect(await preview(feed)).toMatchObject({ title: 'Known' });
    expect(context.server.requests).toHaveLength(before + 2);
  });

  it('of a page names its feeds', async () => {
    const link = '<link rel="alternate" type="application/rss+xml" href="/feed" title="Show">';
    const page = serve('/page', `<!doctype html><title>Page</title>${link}`);
    const alternates = [{ feed_url: context.server.url('/feed'), title: 'Show' }];
    expect(await preview(page)).toEqual({ status: 'not_a_feed', alternates });
  });

  it('of a link to Apple Podcasts names the feed that Apple has', async () => {
    const results = [
      { collectionName: 'Show', feedUrl: 'https://podcast.example/feed' },
      { collectionName: 'Only there' },
    ];
    context.server.on('/apple/lookup', ({ url }, response) =>
      response.end(url?.endsWith('?id=123') ? JSON.stringify({ results }) : 'no JSON'),
    );
    expect(await preview('https://podcasts.apple.com/us/podcast/show/id123?i=456')).toEqual({
      status: 'not_a_feed',
      alternates: [{ feed_url: 'https://podcast.example/feed', title: 'Show' }],
    });
    expect(await preview('https://podcasts.apple.com/podcast/id5')).toEqual({ status: 'failed' });
  });

  it('of a feed without its picture has none', async () => {
    const feed = '<rss><channel><title>A</title><image><url>http://127.0.0.1:9/</url></image>';
    expect(await preview(serve('/bare', feed))).toEqual({ status: 'ok', title: 'A' });
  });

  it.each<[string, string, () => string]>([
    ['failed', 'a missing document', () => serve('/a', '', 404)],
    ['failed', 'a silent server', () => context.server.on('/a', () => {})],
    ['refused', 'a private address', () => 'http://192.168.0.1/feed'],
    [
      'refused',
      'a redirect to a private address',
      () =>
        context.server.on('/a', (_, response) =>
          response.writeHead(302, { location: 'http://169.254.169.254/' }).end(),
        ),
    ],
  ])('%s for %s', async (status, _, url) => expect(await preview(url())).toEqual({ status }));

  it('of a private feed sends no request', async () => {
    const feedUrl = 'https://ann:secret@a.example/feed';
    expect(await context.service.preview({ feedUrl })).toEqual({ status: 'private' });
    expect(await loop.startDue()).toBe(0);
  });

  it('is refused while 16 others wait, and removed by the sweep', async () => {
    await context.owner.query(
      `INSERT INTO feed.previews (id, url)
       SELECT gen_random_uuid(), 'https://a.example/' FROM generate_series(1, 16)`,
    );
    const ask = () => context.previews.requestPreview('https://b.example/');
    expect(await ask()).toBeUndefined();
    await expect(context.service.preview({ feedUrl: 'https://b.example/' })).rejects.toThrow(
      new Failure('unavailable'),
    );
    await context.owner.query(`UPDATE feed.previews SET created_at = now() - interval '2 min'`);
    expect(await ask()).toBeDefined();
    await context.repository.sweep(1);
    expect((await context.owner.query('SELECT FROM feed.previews')).rows).toHaveLength(1);
  });
});
