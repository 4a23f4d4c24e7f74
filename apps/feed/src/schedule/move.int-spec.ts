import { randomUUID } from 'node:crypto';
import { register } from 'prom-client';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { freshUser } from '#testing';
import { type FeedContext, fetched, openFeeds } from '../../testing/feed-context.js';

let context: FeedContext;

beforeAll(async () => {
  context = await openFeeds();
});
afterAll(() => context.close());
beforeEach(async () => {
  await context.owner.query('TRUNCATE feed.feeds, feed.fetches, feed.lanes, feed.tasks CASCADE');
});

const rss = (items: readonly string[], more = '') =>
  `<rss><channel><title>Show</title>${more}
   ${items.map((guid) => `<item><guid>${guid}</guid></item>`).join('')}</channel></rss>`;
const items = ['1', '2', '3', '4'];
const declaring = (guid: string) => rss(items, `<podcast:guid>${guid}</podcast:guid>`);

/** Returns a URL with a host name: feeds at addresses never move. */
const url = (path: string) => context.server.url(path, 'localhost');
const serve = (path: string, body: string) => {
  context.server.on(path, (_, response) => response.end(body));
  return url(path);
};
const redirect = (path: string, to: string, status = 301) => {
  context.server.on(path, (_, response) => response.writeHead(status, { location: to }).end());
  return url(path);
};

async function fetchAgain(of = '%'): Promise<void> {
  await context.makeDue();
  await context.owner.query(
    `UPDATE feed.fetches t SET next_at = 'infinity' FROM feed.feeds f
     WHERE f.url_sha256 = t.url_sha256 AND f.url NOT LIKE $1`,
    [of],
  );
  await context.fetchDue();
}

async function tasks() {
  const { rows } = await context.owner.query(
    `SELECT f.url, k.kind, k.to_url, k.guid FROM feed.tasks k JOIN feed.feeds f USING (url_sha256)
     ORDER BY f.url`,
  );
  return rows as { url: string; kind: string; to_url: string | null; guid: string | null }[];
}

async function seen(of: string) {
  const { rows } = await context.owner.query<{ move_to: string | null; move_seen: number }>(
    `SELECT t.move_to, t.move_seen FROM feed.fetches t JOIN feed.feeds f USING (url_sha256)
     WHERE f.url = $1`,
    [of],
  );
  return rows[0];
}

/** Returns the number of held changes of a kind. */
async function heldChanges(kind: 'move' | 'guid'): Promise<number> {
  const metric = await register.getSingleMetric('podcast_sync_feed_changes_held_total')?.get();
  return metric?.values.find(({ labels }) => labels.kind === kind)?.value ?? 0;
}

/** Makes a week pass for moves, guids and visits. */
const week = () =>
  context.owner.query(
    `UPDATE feed.fetches SET move_since = move_since - interval '7 days',
       moved_at = moved_at - interval '8 days', named_at = named_at - interval '8 days',
       visited_at = '-infinity'`,
  );

describe('a permanent redirect', () => {
  it.each([
    ['to the same episodes', rss(items)],
    ['to half of the episodes', rss(['3', '4', '5', '2'])],
  ])('%s is a move immediately', async (_, document) => {
    const from = serve('/from', rss(items));
    await fetched(context, from);
    const to = serve('/to', document);
    redirect('/from', to);
    await fetchAgain();
    expect(await tasks()).toEqual([{ url: from, kind: 'apply', to_url: to, guid: null }]);
  });

  it('to other episodes is a move after three sightings in a week', async () => {
    const from = serve('/slow', rss(items));
    await fetched(context, from);
    const to = serve('/others', rss(['a', 'b', 'c']));
    redirect('/slow', to);
    await fetchAgain();
    await fetchAgain();
    await fetchAgain();
    expect([await seen(from), await tasks()]).toEqual([{ move_to: to, move_seen: 3 }, []]);
    await week();
    await fetchAgain();
    expect(await tasks()).toMatchObject([{ url: from, to_url: to }]);
  });

  it('of a feed without any content proves nothing immediately', async () => {
    const from = redirect('/new', serve('/target', rss(items)));
    await fetched(context, from);
    await fetchAgain();
    expect(await seen(from)).toMatchObject({ move_seen: 2 });
    expect(await tasks()).toEqual([]);
  });

  it.each([
    ['to a page', (path: string) => redirect(path, serve('/page', '<html>Parked</html>'))],
    ['302', (path: string) => redirect(path, serve('/same', rss(items)), 302)],
    ['to itself', (path: string) => redirect(path, url(path))],
    ['to and fro', (path: string) => redirect(path, redirect('/back', url(path)))],
    ['to a cut document', (path: string) => redirect(path, serve('/cut', rss(items).slice(0, -9)))],
  ])('%s is no move', async (_, change) => {
    const path = `/${randomUUID()}`;
    const from = serve(path, rss(items));
    await fetched(context, from);
    change(path);
    await fetchAgain();
    expect(await tasks()).toEqual([]);
  });

  it('ends with its redirect', async () => {
    const from = serve('/back-again', rss(items));
    await fetched(context, from);
    redirect('/back-again', serve('/elsewhere', rss(['a', 'b', 'c'])));
    await fetchAgain();
    serve('/back-again', rss(items));
    await fetchAgain();
    expect([await seen(from), await tasks()]).toEqual([{ move_to: null, move_seen: 0 }, []]);
  });

  it('is followed by no other one for a week', async () => {
    const from = serve('/first', rss(items));
    await fetched(context, from);
    redirect('/first', serve('/second', rss(items)));
    await fetchAgain();
    await fetchAgain('%/second');
    redirect('/second', serve('/third', rss(items)));
    await context.owner.query(`UPDATE feed.fetches SET visited_at = '-infinity'`);
    await fetchAgain('%/second');
    expect((await tasks()).map(({ url: of }) => of)).toEqual([from]);
    await week();
    await fetchAgain('%/second');
    expect((await tasks()).map(({ to_url }) => to_url)).toContain(url('/third'));
  });

  it('of many feeds of a host to one URL moves none', async () => {
    const userId = freshUser();
    const feeds = Array.from({ length: 50 }, (_, n) => serve(`/many/${n}`, rss([`${n}`])));
    for (const one of feeds) await context.follow(userId, one);
    await context.podcasts(userId);
    const parked = serve('/parked', rss(['x', 'y', 'z']));
    const before = await heldChanges('move');
    for (const [n] of feeds.entries()) redirect(`/many/${n}`, parked);
    // Each was seen twice, a week ago.
    await context.owner.query(
      `UPDATE feed.fetches SET move_to = $1, move_seen = 2, move_since = now() - interval '8 days'`,
      [parked],
    );
    // The new URL is fetched as well.
    for (let n = 0; n < feeds.length + 2; n++) {
      await context.owner.query(
        `UPDATE feed.lanes SET busy_until = '-infinity', next_at = 'epoch'`,
      );
      await context.fetchDue();
    }
    expect(await seen(feeds[7] as string)).toEqual({ move_to: parked, move_seen: 3 });
    expect(await tasks()).toEqual([]);
    expect(await heldChanges('move')).toBeGreaterThan(before);
    const podcasts = await context.podcasts(userId);
    expect(new Set(podcasts.map(({ status }) => status))).toEqual(new Set(['ok']));
  });
});

describe('itunes:new-feed-url', () => {
  it('is a move once its URL was fetched as the same feed', async () => {
    const to = serve('/named', rss(items));
    const from = serve('/naming', rss(items, `<itunes:new-feed-url>${to}</itunes:new-feed-url>`));
    await fetched(context, from);
    expect([await seen(from), await tasks()]).toMatchObject([{ move_seen: 1 }, []]);
    await fetchAgain('%/named');
    await fetchAgain('%/naming');
    expect(await tasks()).toEqual([{ url: from, kind: 'apply', to_url: to, guid: null }]);
  });

  it('is not a move if its URL is not a feed', async () => {
    const to = serve('/no-feed', '<html></html>');
    const from = serve('/to-none', rss(items, `<itunes:new-feed-url>${to}</itunes:new-feed-url>`));
    await fetched(context, from);
    await fetchAgain('%/no-feed');
    for (let n = 0; n < 3; n++) await fetchAgain('%/to-none');
    await week();
    await fetchAgain('%/to-none');
    expect(await tasks()).toEqual([]);
  });
});

describe('a declared guid', () => {
  it('is applied, and changes once a week at most', async () => {
    const [first, second] = [randomUUID(), randomUUID()];
    const feed = serve('/guid', declaring(first));
    await fetched(context, feed);
    expect(await tasks()).toEqual([{ url: feed, kind: 'apply', to_url: null, guid: first }]);
    serve('/guid', declaring(second));
    await context.owner.query(`UPDATE feed.fetches SET visited_at = '-infinity'`);
    await fetchAgain();
    expect(await tasks()).toMatchObject([{ guid: first }]);
    await week();
    await fetchAgain();
    expect(await tasks()).toMatchObject([{ guid: second }]);
  });

  it('is not applied if an unrelated feed declares it', async () => {
    const guid = randomUUID();
    const one = serve('/original', declaring(guid));
    await fetched(context, one);
    const copy = serve('/copy', declaring(guid));
    const before = await heldChanges('guid');
    await fetched(context, copy);
    expect((await tasks()).map((task) => task.url)).toEqual([one]);
    expect(await heldChanges('guid')).toBe(before + 1);
  });

  it('is applied again after a day, for those who followed later', async () => {
    const feed = serve('/daily', declaring(randomUUID()));
    await fetched(context, feed);
    await context.owner.query('DELETE FROM feed.tasks');
    await fetchAgain();
    expect(await tasks()).toEqual([]);
    await context.owner.query(`UPDATE feed.fetches SET visited_at = now() - interval '25 hours'`);
    await fetchAgain();
    expect(await tasks()).toHaveLength(1);
  });
});

it('a pushed new_feed_url and guid count as proven, also on the day of another push', async () => {
  const [from, to] = ['https://a.example/old', 'https://b.example/new'];
  const guid = randomUUID();
  const named = 'https://c.example/feed';
  const feeds = [
    { feed_url: from, new_feed_url: to },
    { feed_url: named, guid },
  ];
  const before = feeds.map(({ feed_url }) => ({ feed_url, title: 'Before' }));
  await context.service.push({ body: { feeds: before } });
  expect(await tasks()).toEqual([]);
  await context.service.push({ body: { feeds } });
  expect(await tasks()).toEqual([
    { url: from, kind: 'apply', to_url: to, guid: null },
    { url: named, kind: 'apply', to_url: null, guid },
  ]);
});
