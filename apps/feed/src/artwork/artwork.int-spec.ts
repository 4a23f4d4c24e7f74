import { Failure } from '#contracts';
import { AddressGuard, Fetcher } from '#fetch';
import { createLog } from '#runtime';
import { freshUser } from '#testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { fetched, type FeedContext, openFeeds } from '../../testing/feed-context.js';
import { jpeg, png } from '../../../../libs/fetch/testing/pictures.js';
import { ArtworkLoop } from './artwork-loop.js';
import { Thumbnailer } from './thumbnailer.js';

const artworkUrl = 'https://sync.example/feeds/artwork/';

let context: FeedContext;
let thumbnailer: Thumbnailer;
let loop: ArtworkLoop;
beforeAll(async () => {
  context = await openFeeds();
  const { images: repository, work, server } = context;
  thumbnailer = new Thumbnailer();
  const guard = new AddressGuard([`127.0.0.1:${server.port}`]);
  loop = new ArtworkLoop({
    repository,
    work,
    fetcher: new Fetcher({ userAgent: 'Test', guard }),
    thumbnailer,
    log: createLog('feed', 'silent'),
  });
});
afterEach(() => context.owner.query('DELETE FROM feed.feeds'));
afterAll(async () => {
  thumbnailer?.close();
  await context?.close();
});

/** Serves a feed whose picture is at a URL, or which has none. */
function serveFeed(path: string, image?: string): string {
  const element = image === undefined ? '' : `<image><url>${image}</url></image>`;
  return context.server.on(path, (_, response) => {
    response.end(`<rss><channel><title>Show</title>${element}</channel></rss>`);
  });
}

function serveImage(path: string, bytes: Uint8Array, status = 200): string {
  return context.server.on(path, (_, response) => response.writeHead(status).end(bytes));
}

/** Returns the podcasts of a user with their artwork. */
async function podcasts(userId: string, since?: string) {
  const page = { userId, after: 0, perPage: 100, since, artworkUrl };
  const { feeds, syncTimestamp } = await context.service.listPodcasts(page);
  return { feeds: feeds.parse(), syncTimestamp };
}

async function artworkOf(userId: string): Promise<string | undefined> {
  return (await podcasts(userId)).feeds[0]?.artwork;
}

const makeDue = () => context.owner.query(`UPDATE feed.images SET next_at = 'epoch'`);

describe('the picture of a feed', () => {
  it('is fetched once, has a random id, and is a change of its podcast', async () => {
    const { userId } = await fetched(context, serveFeed('/a', serveImage('/a.jpg', jpeg)));
    expect(await artworkOf(userId)).toBeUndefined();
    await context.owner.query(`UPDATE feed.feeds SET changed = now() - interval '1 min'`);
    const { syncTimestamp } = await podcasts(userId);
    expect((await podcasts(userId, syncTimestamp)).feeds).toEqual([]);
    expect([await loop.runDue(), await loop.runDue()]).toEqual([1, 0]);
    const artwork = (await artworkOf(userId)) ?? '';
    expect(artwork.startsWith(artworkUrl)).toBe(true);
    expect((await podcasts(userId, syncTimestamp)).feeds).toMatchObject([{ artwork }]);
    const { webp } = await context.service.readArtwork({ id: artwork.slice(artworkUrl.length) });
    expect(Buffer.from(webp, 'base64').toString('latin1', 8, 12)).toBe('WEBP');
    expect(context.server.requests.filter(({ path }) => path === '/a.jpg')).toHaveLength(1);
  });

  it('keeps its id until its content changes', async () => {
    const image = serveImage('/b', jpeg);
    const { userId } = await fetched(context, serveFeed('/feed', image));
    await loop.runDue();
    const first = await artworkOf(userId);
    await makeDue();
    await loop.runDue();
    expect(await artworkOf(userId)).toBe(first);
    serveImage('/b', png(300));
    await makeDue();
    await loop.runDue();
    expect(await artworkOf(userId)).not.toBe(first);
    const id = first?.slice(artworkUrl.length) ?? '';
    await expect(context.service.readArtwork({ id })).rejects.toThrow(new Failure('not_found'));
  });

  it('follows its feed: another URL, none, and the end of the feed', async () => {
    const { userId } = await fetched(context, serveFeed('/feed', serveImage('/c', jpeg)));
    await loop.runDue();
    const first = await artworkOf(userId);
    const refetch = async (image?: string) => {
      serveFeed('/feed', image);
      await context.makeDue();
      await context.fetchDue();
      await loop.runDue();
      return artworkOf(userId);
    };
    const second = await refetch(serveImage('/d', png(300)));
    expect(second).toEqual(expect.not.stringMatching(`^${first}$`));
    expect(await refetch()).toBeUndefined();
    await refetch(serveImage('/d', png(300)));
    await context.owner.query('DELETE FROM feed.feeds');
    const { rows } = await context.owner.query('SELECT FROM feed.images');
    expect(rows).toEqual([]);
  });

  it('is that of a pushed feed: its thumbnail, else the one that the platform serves', async () => {
    const url = 'https://a.example/pushed';
    const artwork_url = 'https://platform.example/1.webp';
    const push = (image_url?: string) =>
      context.service.push({ body: { feeds: [{ feed_url: url, image_url, artwork_url }] } });
    const userId = freshUser();
    await context.follow(userId, url);
    await push(serveImage('/pushed', jpeg));
    expect(await artworkOf(userId)).toBe(artwork_url);
    expect(await loop.runDue()).toBe(1);
    const thumbnail = await artworkOf(userId);
    expect(thumbnail).toContain(artworkUrl);
    await push(context.server.url('/pushed'));
    expect([await loop.runDue(), await artworkOf(userId)]).toEqual([0, thumbnail]);
    await push();
    expect([await loop.runDue(), await artworkOf(userId)]).toEqual([0, artwork_url]);
  });

  it('is fetched by one of several replicas', async () => {
    await fetched(context, serveFeed('/feed', serveImage('/e', jpeg)));
    const claims = await Promise.all([1, 2, 3].map(() => context.images.claimPictures(8)));
    expect(claims.flat()).toHaveLength(1);
  });
});

describe('a picture that cannot be stored is fetched again later', () => {
  it.each<[string, () => string]>([
    ['a missing file', () => serveImage('/f', jpeg, 404)],
    ['HTML', () => serveImage('/f', Buffer.from('<html>'))],
    ['20 MB', () => serveImage('/f', Buffer.concat([jpeg, Buffer.alloc(20_000_000)]))],
    ['a private address', () => 'http://127.0.0.1:9/f'],
    [
      'a redirect to a private address',
      () =>
        context.server.on('/f', (_, response) =>
          response.writeHead(302, { location: 'http://169.254.169.254/' }).end(),
        ),
    ],
  ])('is the result of %s', async (_, image) => {
    const { userId } = await fetched(context, serveFeed('/feed', image()));
    expect([await loop.runDue(), await loop.runDue()]).toEqual([1, 0]);
    expect(await artworkOf(userId)).toBeUndefined();
    await makeDue();
    await context.owner.query('UPDATE feed.images SET failures = 1000');
    expect(await loop.runDue()).toBe(1);
    const { rows } = await context.owner.query(
      `SELECT next_at BETWEEN now() + interval '29 days' AND now() + interval '31 days' AS is_late
       FROM feed.images`,
    );
    expect(rows).toEqual([{ is_late: true }]);
  });

  it('is stored for a feed with another source by then', async () => {
    const { userId } = await fetched(context, serveFeed('/feed', serveImage('/g', jpeg)));
    const [claim] = await context.images.claimPictures(8);
    if (!claim) throw new Error('nothing is due');
    await context.images.storeThumbnail(claim.key, 'https://other.example/', jpeg);
    expect(await artworkOf(userId)).toBeUndefined();
    expect(await artworkOf(freshUser())).toBeUndefined();
  });
});
