import { randomUUID } from 'node:crypto';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { RequestListener } from 'node:http';
import type { Socket } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { eventually, freshUser } from '#testing';
import { type FeedContext, fetched, openFeeds, unreachableRedis } from '../testing/feed-context.js';
import { feedKey } from './feed-address.js';
import { FetchLoop } from './schedule/fetch-loop.js';
import { resultOf } from './schedule/result.rules.js';

let context: FeedContext;

beforeAll(async () => {
  context = await openFeeds();
});
afterAll(() => context.close());
beforeEach(async () => {
  await context.owner.query(
    'TRUNCATE feed.feeds, feed.fetches, feed.lanes, feed.tasks, feed.touched CASCADE',
  );
  context.server.requests.length = 0;
});

const item = (guid: string, date = '2026-01-01T00:00:00Z') =>
  `<item><guid>${guid}</guid><title>Title ${guid}</title><pubDate>${date}</pubDate>
   <enclosure url="https://a.example/${guid}.mp3"/><itunes:duration>60</itunes:duration></item>`;
const rss = (title: string, items = item('1')) =>
  `<rss><channel><title>${title}</title>${items}</channel></rss>`;

/** Answers a path with a text. */
const serve = (path: string, body: string) =>
  context.server.on(path, (_, response) => response.end(body));
const answer = (path: string, handler: RequestListener) => context.server.on(path, handler);

async function rowOf<Row extends object>(url: string): Promise<Row> {
  const { rows } = await context.owner.query<Row>(
    `SELECT f.*, t.*, l.*, f.xmin::text AS version FROM feed.feeds f
     JOIN feed.fetches t USING (url_sha256) JOIN feed.lanes l USING (lane) WHERE f.url = $1`,
    [url],
  );
  return rows[0] as Row;
}

async function urls(): Promise<string[]> {
  const { rows } = await context.owner.query<{ url: string }>('SELECT url FROM feed.feeds');
  return rows.map(({ url }) => url).sort();
}

async function episodesOf(userId: string, guid: string) {
  return (await context.service.listEpisodes({ userId, guid })).episodes.parse();
}

describe('reading', () => {
  it('schedules the feeds of a user, and returns them once they are fetched', async () => {
    const url = serve('/one', rss('One'));
    const userId = freshUser();
    const guid = await context.follow(userId, url);
    expect(await context.podcasts(userId)).toEqual([{ guid, feed_url: url, status: 'pending' }]);
    await context.fetchDue();
    const latest = '2026-01-01T00:00:00.000Z';
    expect(await context.podcasts(userId)).toEqual([
      { guid, feed_url: url, status: 'ok', title: 'One', latest_publish_date: latest },
    ]);
    expect(await episodesOf(userId, guid)).toEqual([
      {
        podcast_guid: guid,
        episode_guid: '1',
        title: 'Title 1',
        publish_date: latest,
        enclosure_url: 'https://a.example/1.mp3',
        duration: 60,
      },
    ]);
  });

  it('returns pages', async () => {
    const userId = freshUser();
    for (let n = 0; n < 5; n++) await context.follow(userId, `https://a.example/${n}`);
    const read = (after: number) => context.service.listPodcasts({ userId, after, perPage: 2 });
    const pages = [];
    for (let after: number | undefined = 0; after !== undefined;) {
      const page: Awaited<ReturnType<typeof read>> = await read(after);
      pages.push(page.feeds.parse().map(({ feed_url }) => feed_url));
      after = page.next;
    }
    const feeds = (...of: number[]) => of.map((n) => `https://a.example/${n}`);
    expect(pages).toEqual([feeds(0, 1), feeds(2, 3), feeds(4)]);
    expect(await urls()).toEqual(feeds(0, 1, 2, 3, 4));
  });

  it('does not show whether other users follow a new feed', async () => {
    const url = serve('/known', rss('Known'));
    await fetched(context, url);
    const userId = freshUser();
    const guid = await context.follow(userId, url, new Date().toISOString());
    expect(await context.podcasts(userId)).toEqual([{ guid, feed_url: url, status: 'pending' }]);
    expect(await episodesOf(userId, guid)).toEqual([]);
  });

  it("returns the listener's own title instead of the publisher's", async () => {
    const url = serve('/renamed', rss('Theirs'));
    const { userId } = await fetched(context, url);
    const rename = (title: string | null) =>
      context.owner.query('UPDATE subscription.subscriptions SET title = $2 WHERE user_id = $1', [
        userId,
        title,
      ]);
    const title = async () => (await context.podcasts(userId))[0]?.title;
    expect(await title()).toBe('Theirs');
    await rename('Mine');
    expect(await title()).toBe('Mine');
    await rename(null);
    expect(await title()).toBe('Theirs');
  });

  it('stores nothing of a private feed', async () => {
    const url = 'https://example.org/feed?token=0123456789abcdef';
    const userId = freshUser();
    const guid = await context.follow(userId, url);
    expect(await context.podcasts(userId)).toEqual([{ guid, feed_url: url, status: 'private' }]);
    await context.owner.query(
      `UPDATE subscription.subscriptions SET title = 'Mine' WHERE user_id = $1`,
      [userId],
    );
    expect(await context.podcasts(userId)).toMatchObject([{ title: 'Mine', status: 'private' }]);
    expect(await episodesOf(userId, guid)).toEqual([]);
    expect(await urls()).toEqual([]);
  });

  it('fails for the episodes of a podcast that the user does not follow', async () => {
    const { guid } = await fetched(context, serve('/other', rss('Other')));
    for (const other of [guid, randomUUID()])
      await expect(
        context.service.listEpisodes({ userId: freshUser(), guid: other }),
      ).rejects.toThrow('not_found');
    expect(await context.podcasts(freshUser())).toEqual([]);
  });

  it('inserts each feed once for many users at the same time', async () => {
    const feeds = Array.from({ length: 60 }, (_, n) => `https://host${n % 7}.example/${n}`);
    const users = Array.from({ length: 20 }, () => freshUser());
    for (const [index, userId] of users.entries())
      for (const url of index % 2 === 0 ? feeds : feeds.toReversed())
        await context.follow(userId, url);
    await Promise.all(users.map((userId) => context.podcasts(userId)));
    expect(await urls()).toEqual(feeds.toSorted());
  });
});

describe('fetching', () => {
  it('sends validators, and writes no content that is unchanged', async () => {
    let requests = 0;
    const url = answer('/same', (request, response) => {
      requests += 1;
      // The third document has another ETag, and differs in a comment only.
      response.setHeader('etag', `"${requests}"`);
      if (request.headers['if-none-match'] === '"1"' && requests === 2)
        response.writeHead(304).end();
      else response.end(`<!-- ${requests} -->${rss('Same')}`);
    });
    await fetched(context, url);
    const { version } = await rowOf<{ version: string }>(url);
    for (const expected of [2, 3]) {
      await context.makeDue();
      await context.fetchDue();
      expect(requests).toBe(expected);
      expect(await rowOf(url)).toMatchObject({ version, status: 'ok', failures: 0 });
    }
  });

  it('finds validators that never change, by fetches without them', async () => {
    let title = 'Old';
    const url = answer('/lying', (request, response) => {
      if (request.headers['if-none-match']) response.writeHead(304).end();
      else response.setHeader('etag', '"1"').end(rss(title));
    });
    const { userId } = await fetched(context, url);
    title = 'New';
    await context.makeDue();
    await context.fetchDue();
    expect(await context.podcasts(userId)).toMatchObject([{ title: 'Old' }]);
    await context.makeDue();
    await context.openLoop(() => 0).runDue();
    expect(await context.podcasts(userId)).toMatchObject([{ title: 'New' }]);
  });

  it('keeps the episodes that a broken document lacks, and stores no validator', async () => {
    const document = rss('Show', item('2') + item('1'));
    let body = document;
    const url = answer('/cut', (_, response) => response.setHeader('etag', '"1"').end(body));
    const { userId, guid } = await fetched(context, url);
    const guids = async () =>
      (await episodesOf(userId, guid)).map(({ episode_guid }) => episode_guid);
    expect(await guids()).toEqual(['2', '1']);
    body = rss('Show', item('3', '2026-02-01') + item('2')).slice(0, -40);
    await context.makeDue();
    await context.fetchDue();
    expect(await guids()).toEqual(['3', '2', '1']);
    expect(await rowOf(url)).toMatchObject({ etag: null });
    body = rss('Show', item('3', '2026-02-01'));
    await context.makeDue();
    await context.fetchDue();
    expect(await guids()).toEqual(['3']);
  });

  it.each<[string, RequestListener, string]>([
    ['404', (_, response) => response.writeHead(404).end(), 'http_404'],
    ['a page', (_, response) => response.end('<html>Not found</html>'), 'not_a_feed'],
    ['304 to the first request', (_, response) => response.writeHead(304).end(), 'http_304'],
    ['a reset', (request) => request.socket.resetAndDestroy(), 'unreachable'],
  ])('keeps the content after a failure: %s', async (_, handler, fault) => {
    const url = serve('/failing', rss('Failing'));
    const { userId } = await fetched(context, url);
    await context.owner.query('UPDATE feed.fetches SET etag = NULL, last_modified = NULL');
    answer('/failing', handler);
    await context.makeDue();
    await context.fetchDue();
    expect(await rowOf(url)).toMatchObject({ fault, failures: 1, status: 'ok' });
    expect(await context.podcasts(userId)).toMatchObject([{ title: 'Failing', status: 'ok' }]);
  });

  it('waits before it repeats what cannot be stored', async () => {
    await context.owner.query(
      `ALTER TABLE feed.feeds ADD CONSTRAINT unstorable CHECK (title <> 'Unstorable')`,
    );
    const url = serve('/unstorable', rss('Unstorable'));
    await fetched(context, url);
    expect(await rowOf(url)).toMatchObject({ fault: 'internal', failures: 1, title: null });
    await context.owner.query('ALTER TABLE feed.feeds DROP CONSTRAINT unstorable');
    await context.makeDue();
    await context.fetchDue();
    expect(await rowOf(url)).toMatchObject({ fault: null, title: 'Unstorable' });
  });

  it('does not connect to a private address', async () => {
    const url = `http://127.0.0.2:${context.server.port}/`;
    const { userId } = await fetched(context, url);
    expect(await context.podcasts(userId)).toMatchObject([{ status: 'refused' }]);
    expect(context.server.requests).toEqual([]);
  });

  it('leaves a host alone after a 429, and only the feed after a 503', async () => {
    const retry =
      (code: number): RequestListener =>
      (_, response) =>
        response.writeHead(code, { 'retry-after': '3600' }).end();
    type Times = { busy: number; next: number };
    const times = async (url: string) => {
      const { rows } = await context.owner.query<Times>(
        `SELECT extract(epoch FROM l.busy_until - now())::float AS busy,
           extract(epoch FROM t.next_at - now())::float AS next
         FROM feed.feeds f JOIN feed.fetches t USING (url_sha256) JOIN feed.lanes l USING (lane)
         WHERE f.url = $1`,
        [url],
      );
      return rows[0] as Times;
    };
    const unavailable = answer('/503', retry(503));
    await fetched(context, unavailable);
    const after503 = await times(unavailable);
    expect(after503.busy).toBeLessThan(60);
    expect(after503.next).toBeGreaterThan(3_500);
    const limited = answer('/429', retry(429));
    await fetched(context, limited);
    expect((await times(limited)).busy).toBeGreaterThan(3_500);
  });
});

describe('lanes', () => {
  it('have one request at a time from two replicas, and each feed once', async () => {
    let [running, most] = [0, 0];
    const feeds = Array.from({ length: 6 }, (_, n) =>
      answer(`/lane/${n}`, (_request, response) => {
        most = Math.max(most, (running += 1));
        setTimeout(() => {
          running -= 1;
          response.end(rss(`${n}`));
        }, 20);
      }),
    );
    const userId = freshUser();
    for (const url of feeds) await context.follow(userId, url);
    await context.podcasts(userId);
    const loops = [context.openLoop(), context.openLoop()];
    for (let round = 0; round < feeds.length; round++) {
      await Promise.all(loops.map((loop) => loop.startDue()));
      await Promise.all(loops.map((loop) => loop.runDue()));
      await context.owner.query(`UPDATE feed.lanes SET busy_until = '-infinity'`);
    }
    expect(most).toBe(1);
    expect(context.server.requests).toHaveLength(feeds.length);
    expect((await context.podcasts(userId)).map(({ status }) => status)).toEqual(
      feeds.map(() => 'ok'),
    );
  });

  it('are free again after the lease of a dead process, which then stores nothing', async () => {
    const url = serve('/lease', rss('Lease'));
    const userId = freshUser();
    await context.follow(userId, url);
    await context.podcasts(userId);
    const [dead] = await context.repository.claim(1);
    expect(await context.repository.claim(1)).toEqual([]);
    await context.owner.query(
      `UPDATE feed.lanes SET busy_until = now() - interval '1 s', next_at = now() - interval '1 s'`,
    );
    await context.fetchDue();
    expect(await rowOf(url)).toMatchObject({ status: 'ok', title: 'Lease' });
    const timing = { now: 0, durationMs: 0, random: () => 0 };
    const failure = { kind: 'failed', fault: 'timeout' } as const;
    const result = await resultOf(dead!, dead!.feed!, failure, timing, async () => '[]');
    const key = feedKey(url).toString('hex');
    expect(await context.repository.save(dead!, key, result)).toBe(false);
    expect(await rowOf(url)).toMatchObject({ status: 'ok', fault: null });
  });

  it('do not lose a feed that is scheduled during a lease', async () => {
    const first = serve('/first', rss('First'));
    const { userId } = await fetched(context, first);
    await context.makeDue();
    await context.owner.query(`UPDATE feed.fetches SET next_at = now() + interval '1 hour'`);
    const [claim] = await context.repository.claim(1);
    const second = serve('/second', rss('Second'));
    await context.follow(userId, second);
    await context.podcasts(userId);
    await context.repository.release(claim!);
    await context.fetchDue();
    expect(await rowOf(second)).toMatchObject({ title: 'Second' });
  });

  it('wait until their next feed is due', async () => {
    await fetched(context, serve('/due', rss('Due')));
    const { rows } = await context.owner.query<{ hours: number }>(
      `SELECT extract(epoch FROM next_at - now())::float / 3600 AS hours FROM feed.lanes`,
    );
    expect(rows[0]?.hours).toBeGreaterThan(1);
    await context.owner.query(`UPDATE feed.lanes SET busy_until = '-infinity'`);
    expect(await context.repository.claim(1)).toEqual([]);
  });
});

describe('since', () => {
  const listed = async (userId: string, since: string) =>
    (await context.service.listPodcasts({ userId, after: 0, perPage: 100, since })).feeds.parse();
  const fresh = async (userId: string, since: string) =>
    (await context.service.listNewEpisodes({ userId, after: 0, since })).episodes.parse();
  const changeOf = async (url: string) => (await rowOf<{ changed: Date }>(url)).changed;

  it('selects podcasts whose feed or subscription changed later', async () => {
    const url = serve('/since', rss('Since'));
    const { userId, guid } = await fetched(context, url);
    const changed = await changeOf(url);
    const before = new Date(changed.getTime() - 1).toISOString();
    expect(await listed(userId, before)).toMatchObject([{ guid, title: 'Since' }]);
    expect(await listed(userId, changed.toISOString())).toEqual([]);
    serve('/since', rss('Renamed'));
    await context.makeDue();
    await context.fetchDue();
    expect(await listed(userId, changed.toISOString())).toMatchObject([{ title: 'Renamed' }]);
    const token = 'https://example.org/feed?token=0123456789abcdef';
    await context.follow(userId, token, '2030-01-01T00:00:00Z');
    expect(await listed(userId, '2029-12-31T00:00:00.000Z')).toMatchObject([{ feed_url: token }]);
    expect(await listed(userId, '2030-01-01T00:00:00.000Z')).toEqual([]);
  });

  it('has a timestamp that includes statements that commit after the answer', async () => {
    const userId = freshUser();
    const { rows } = await context.owner.query<{ time: Date }>('SELECT now() AS time');
    const { syncTimestamp } = await context.service.listPodcasts({ userId, after: 0, perPage: 1 });
    const ahead = (rows[0] as { time: Date }).time.getTime() - Date.parse(syncTimestamp);
    expect(ahead).toBeGreaterThan(5_000);
    expect(ahead).toBeLessThan(11_000);
  });

  it('reads a limited number of subscriptions for a page, which can be empty', async () => {
    const userId = freshUser();
    await context.owner.query(
      `INSERT INTO subscription.subscriptions
         (user_id, feed_url, guid, is_subscribed, is_subscribed_at, subscription_changed, changed)
       SELECT $1, 'https://ann:secret@a.example/' || n, gen_random_uuid(), true, t, t, t
       FROM generate_series(1, 251) n, (SELECT '2026-01-01'::timestamptz AS t) t`,
      [userId],
    );
    const request = { userId, perPage: 50, since: '2026-01-02T00:00:00.000Z' };
    const first = await context.service.listPodcasts({ ...request, after: 0 });
    expect(first.feeds.parse()).toEqual([]);
    const second = await context.service.listPodcasts({ ...request, after: first.next ?? 0 });
    expect([second.feeds.parse(), second.next]).toEqual([[], undefined]);
    expect(first.next).toBeGreaterThan(0);
    const all = await context.service.listPodcasts({
      ...request,
      after: 0,
      since: '2025-01-01T00:00:00.000Z',
    });
    expect(all.feeds.parse()).toHaveLength(50);
    expect(all.next).toBeLessThan(first.next ?? 0);
  });

  it('selects episodes that became known later, also through a broken document', async () => {
    const url = serve('/new', rss('New', item('1')));
    const { userId, guid } = await fetched(context, url);
    const start = await changeOf(url);
    const guids = async (since: Date) =>
      (await fresh(userId, since.toISOString())).map((one) => [one.podcast_guid, one.episode_guid]);
    expect(await guids(new Date(start.getTime() - 1))).toEqual([[guid, '1']]);
    expect(await guids(start)).toEqual([]);
    serve('/new', rss('New', item('2') + item('1')).slice(0, -30));
    await context.makeDue();
    await context.fetchDue();
    serve('/new', rss('Newer', item('3') + item('2') + item('1')));
    const middle = await changeOf(url);
    await context.makeDue();
    await context.fetchDue();
    expect(await guids(start)).toEqual([
      [guid, '3'],
      [guid, '2'],
    ]);
    expect(await guids(middle)).toEqual([[guid, '3']]);
    expect(await fresh(freshUser(), start.toISOString())).toEqual([]);
    expect((await episodesOf(userId, guid))[0]).not.toHaveProperty('seen');
  });

  it('returns pages of whole podcasts within a limit of bytes', async () => {
    const userId = freshUser();
    const long = 'x'.repeat(2_000);
    const items = Array.from({ length: 100 }, (_, n) =>
      item(`${n}`).replace('</item>', `<link>https://a.example/${long}?${long}</link></item>`),
    ).join('');
    const feeds = Array.from({ length: 8 }, (_, n) => serve(`/large/${n}`, rss(`${n}`, items)));
    for (const url of feeds) await context.follow(userId, url);
    await context.podcasts(userId);
    for (const _ of feeds) {
      await context.owner.query(`UPDATE feed.lanes SET busy_until = '-infinity'`);
      await context.fetchDue();
    }
    const since = '2026-01-01T00:00:00.000Z';
    const counts: number[] = [];
    for (let after: number | undefined = 0; after !== undefined;) {
      const page: Awaited<ReturnType<typeof context.service.listNewEpisodes>> =
        await context.service.listNewEpisodes({ userId, after, since });
      counts.push(page.episodes.parse().length);
      after = page.next;
    }
    expect(counts).toEqual([400, 400]);
  });
});

describe('pushing', () => {
  const entry = (url: string, title: string) => ({
    feed_url: url,
    title,
    episodes: [{ episode_guid: '1', title: 'One', publish_date: '2026-01-01T00:00:00Z' }],
  });
  const push = async (...feeds: unknown[]) =>
    (await context.service.push({ body: { feeds } })).parse();

  it('stores the content of feeds, with a result for each entry', async () => {
    const url = 'https://a.example/pushed';
    expect(await push(entry(url, 'Old'), { feed_url: 'x' }, entry(url, 'Pushed'))).toMatchObject({
      success: [{ feed_url: url }, { feed_url: url }],
      failure: [{ feed_url: 'x', code: 'invalid_url' }],
    });
    const userId = freshUser();
    const guid = await context.follow(userId, url);
    const latest_publish_date = '2026-01-01T00:00:00.000Z';
    expect(await context.podcasts(userId)).toEqual([
      { guid, feed_url: url, status: 'ok', title: 'Pushed', latest_publish_date },
    ]);
    expect(await episodesOf(userId, guid)).toMatchObject([{ episode_guid: '1', title: 'One' }]);
    const since = '2026-01-01T00:00:00.000Z';
    const { episodes } = await context.service.listNewEpisodes({ userId, after: 0, since });
    expect(episodes.parse()).toHaveLength(1);
  });

  it('prevents fetches for 30 days, a refresh included', async () => {
    const url = serve('/catalogue', rss('Fetched'));
    const { userId, guid } = await fetched(context, url);
    await push(entry(url, 'Pushed'));
    await context.owner.query(`UPDATE feed.fetches SET fetched_at = now() - interval '16 min'`);
    await context.service.refresh({ userId, guids: [guid] });
    await context.owner.query(`UPDATE feed.lanes SET next_at = now(), busy_until = '-infinity'`);
    await context.fetchDue();
    expect(context.server.requests).toHaveLength(1);
    expect(await context.podcasts(userId)).toMatchObject([{ title: 'Pushed' }]);
    await context.owner.query(`UPDATE feed.fetches SET pushed_until = now(), next_at = now()`);
    await context.owner.query(`UPDATE feed.lanes SET next_at = now(), busy_until = '-infinity'`);
    await context.fetchDue();
    expect(await context.podcasts(userId)).toMatchObject([{ title: 'Fetched' }]);
  });

  it('is not undone by a fetch that began before', async () => {
    const url = serve('/race', rss('Fetched'));
    const userId = freshUser();
    await context.follow(userId, url);
    await context.podcasts(userId);
    const [claim] = await context.repository.claim(1);
    await push(entry(url, 'Pushed'));
    const timing = { now: Date.now(), durationMs: 0, random: () => 0.5 };
    const failure = { kind: 'failed', fault: 'http_410' } as const;
    const result = await resultOf(claim!, claim!.feed!, failure, timing, async () => '[]');
    const key = feedKey(url).toString('hex');
    const move = { to: 'https://a.example/other', seen: 1, since: Date.now(), isProven: true };
    const late = { ...result, status: 'gone', etag: '"1"', contentSha256: '00', move } as const;
    expect(await context.repository.save(claim!, key, late)).toBe(true);
    expect(await context.podcasts(userId)).toMatchObject([{ title: 'Pushed', status: 'ok' }]);
    const { rows } = await context.owner.query<{ days: number }>(
      `SELECT extract(epoch FROM next_at - now())::float / 86400 AS days, etag, content_sha256,
         move_to, failures, fault FROM feed.fetches`,
    );
    const state = { etag: null, content_sha256: null, move_to: null, failures: 0, fault: null };
    expect(rows).toEqual([{ ...state, days: expect.closeTo(30, 0) }]);
  });

  it('works concurrently in any order, and keeps feeds that nobody follows', async () => {
    const feeds = Array.from({ length: 40 }, (_, n) => `https://host${n % 3}.example/${n}`);
    await Promise.all(
      Array.from({ length: 8 }, (_, n) =>
        push(...(n % 2 === 0 ? feeds : feeds.toReversed()).map((url) => entry(url, `${n}`))),
      ),
    );
    expect(await urls()).toEqual(feeds.toSorted());
    await context.owner.query(
      `UPDATE feed.feeds SET last_read_at = last_read_at - interval '29 days'`,
    );
    expect(await context.repository.sweep(100)).toBe(0);
    await context.owner.query(
      `UPDATE feed.feeds SET last_read_at = last_read_at - interval '2 days'`,
    );
    expect(await context.repository.sweep(100)).toBe(40);
  });
});

describe('refreshing', () => {
  it('fetches again after 15 minutes, for all users together', async () => {
    const url = serve('/refresh', rss('Refresh'));
    const { userId, guid } = await fetched(context, url);
    const refresh = async () => {
      await context.service.refresh({ userId, guids: [guid] });
      await context.owner.query(`UPDATE feed.lanes SET busy_until = '-infinity'`);
      await context.fetchDue();
      return context.server.requests.length;
    };
    expect(await refresh()).toBe(1);
    await context.owner.query(`UPDATE feed.fetches SET fetched_at = now() - interval '16 min'`);
    expect(await refresh()).toBe(2);
    await context.owner.query(`UPDATE feed.fetches SET fetched_at = now() - interval '16 min'`);
    await context.service.refresh({ userId: freshUser(), guids: [guid] });
    await context.fetchDue();
    expect(context.server.requests).toHaveLength(2);
  });
});

/** Records the ports to which this process opens sockets, until `end` is called. */
function watchSockets() {
  const ports = new Set<number>();
  const watch = (opened: unknown) => {
    const { socket } = opened as { socket: Socket };
    socket.on('connectionAttempt', (_address: string, port: number) => ports.add(port));
  };
  subscribe('net.client.socket', watch);
  return { ports, end: () => unsubscribe('net.client.socket', watch) };
}

describe('a process that must not connect to publishers', () => {
  it.each<Record<string, string>>([
    { FEEDS: 'off' },
    { FEEDS: 'pushed' },
    { FEEDS: 'pushed', FEEDS_ROLE: 'fetches' },
    { FEEDS: 'fetched', FEEDS_ROLE: 'answers' },
  ])('opens no connection: %j', async (variables) => {
    const { connections } = context.server;
    const userId = freshUser();
    await context.follow(userId, serve('/unwanted', rss('Unwanted')));
    await context.podcasts(userId);
    const sockets = watchSockets();
    const process = await context.startWith(variables);
    expect(() => process.get(FetchLoop)).toThrow('could not find');
    // A loop would have claimed the feed before this answer.
    expect(await context.podcasts(userId)).toMatchObject([{ status: 'pending' }]);
    sockets.end();
    expect(context.server.connections).toBe(connections);
    const own = [context.urls.feed, unreachableRedis].map((url) => Number(new URL(url).port));
    expect([...sockets.ports].filter((port) => !own.includes(port))).toEqual([]);
    const { rows } = await context.owner.query(
      `SELECT FROM feed.lanes WHERE busy_until > '-infinity'`,
    );
    expect(rows).toEqual([]);
  });

  it('would be noticed: a process that fetches opens a socket', async () => {
    const sockets = watchSockets();
    const process = await context.startWith({ FEEDS: 'fetched' });
    await fetched(context, serve('/wanted', rss('Wanted')));
    await eventually(() => expect(sockets.ports).toContain(context.server.port));
    sockets.end();
    await process.close();
  });
});

describe('a feed that nobody reads', () => {
  it('is not fetched, and is removed', async () => {
    const url = serve('/old', rss('Old'));
    const { userId } = await fetched(context, url);
    await context.owner.query(`UPDATE feed.feeds SET last_read_at = now() - interval '15 days'`);
    await context.makeDue();
    await context.fetchDue();
    expect(context.server.requests).toHaveLength(1);
    // A read by a follower before the removal schedules the feed again.
    await context.podcasts(userId);
    await context.fetchDue();
    expect(context.server.requests).toHaveLength(2);
    await context.owner.query(`UPDATE feed.feeds SET last_read_at = now() - interval '15 days'`);
    await context.makeDue();
    await context.fetchDue();
    expect(await context.repository.sweep(10)).toBe(1);
    const { rows } = await context.owner.query('SELECT FROM feed.lanes');
    expect([await urls(), rows]).toEqual([[], []]);
  });

  it.each<Record<string, string>>([
    { FEEDS: 'pushed' },
    { FEEDS: 'fetched', FEEDS_ROLE: 'answers' },
    { FEEDS: 'fetched', FEEDS_ROLE: 'fetches' },
  ])('is removed by each process of feeds: %j', async (variables) => {
    const userId = freshUser();
    await context.follow(userId, 'https://podcast.example/feed');
    await context.podcasts(userId);
    await context.owner.query(`UPDATE feed.feeds SET last_read_at = now() - interval '15 days'`);
    const process = await context.startWith(variables);
    await eventually(async () => expect(await urls()).toEqual([]));
    await process.close();
  });
});
