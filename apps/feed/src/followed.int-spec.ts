import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { listPodcasts, type Podcast } from '#contracts';
import { freshUser } from '#testing';
import { type FeedContext, fetched, openFeeds } from '../testing/feed-context.js';
import { feedKey } from './feed-address.js';

let context: FeedContext;
beforeAll(async () => {
  context = await openFeeds();
});
afterAll(() => context?.close());
beforeEach(() => context.owner.query('TRUNCATE feed.feeds, feed.lanes, feed.touched CASCADE'));

const serve = (path: string, title: string) =>
  context.server.on(path, (_, response) =>
    response.end(`<rss><channel><title>${title}</title></channel></rss>`),
  );
const push = (url: string, title: string) =>
  context.service.push({ body: { feeds: [{ feed_url: url, title }] } });

/** A client with a copy of the user's podcasts, which sends the version of its copy. */
class Client {
  version: string | undefined;
  podcasts: Podcast[] = [];
  constructor(readonly userId: string) {}

  /** Returns false if the answer has no podcasts, because the copy is current. */
  async poll(): Promise<boolean> {
    const versions = this.version === undefined ? [] : [this.version];
    const request = { userId: this.userId, after: 0, perPage: 100, versions };
    const reply = listPodcasts.reply.parse(await context.service.listPodcasts(request));
    const isNew = reply.version !== this.version;
    this.version = reply.version;
    const podcasts = reply.feeds.parse();
    if (isNew) this.podcasts = podcasts;
    else if (podcasts.length > 0) throw new Error('podcasts of a current copy');
    return isNew;
  }
}

/** Opens a client whose copy of one fetched feed is current. */
async function clientOf(url: string): Promise<Client> {
  const client = new Client((await fetched(context, url)).userId);
  await client.poll();
  expect([await client.poll(), client.podcasts]).toMatchObject([false, [{ status: 'ok' }]]);
  return client;
}

/** Runs the SQL assignments `change` on all subscriptions of a user, dated `secondsAgo` ago. */
const changeSubscriptions = (userId: string, change: string, secondsAgo = 60) =>
  context.owner.query(
    `UPDATE subscription.subscriptions SET changed = t, subscription_changed = t, ${change}
     FROM (SELECT now() - $2 * interval '1 s' AS t) n WHERE user_id = $1`,
    [userId, secondsAgo],
  );
const storeImage = async (url: string, bytes: string) => {
  await context.owner.query(
    `INSERT INTO feed.images (url_sha256, id, source, next_at)
     VALUES ($1, $2, 'https://a.example/', now()) ON CONFLICT DO NOTHING`,
    [feedKey(url), randomUUID()],
  );
  await context.images.storeThumbnail(feedKey(url), 'https://a.example/', Buffer.from(bytes));
};
const refetch = async () => {
  await context.makeDue();
  await context.fetchDue();
};

/** Changes of a feed, by the statement that stores them. */
const feedChanges: Record<string, (url: string) => Promise<unknown>> = {
  'a fetched document': async () => {
    serve('/a', 'Changed');
    await refetch();
  },
  'a fetch that changes the status': async () => {
    context.server.on('/a', (_, response) => response.writeHead(410).end());
    await context.owner.query(
      `UPDATE feed.fetches SET gone_count = 9, failures = 9, failing_since = '2020-01-01',
         etag = NULL, last_modified = NULL`,
    );
    await refetch();
  },
  'pushed content': (url) => push(url, 'Pushed'),
  'a picture': (url) => storeImage(url, 'picture'),
};

describe('the version of a page', () => {
  it.each(Object.entries(feedChanges))('changes with %s', async (_, change) => {
    const url = serve('/a', 'First');
    const client = await clientOf(url);
    await change(url);
    expect(await client.poll()).toBe(true);
    expect(client.podcasts).toEqual(await context.podcasts(client.userId));
    expect(await client.poll()).toBe(false);
  });

  it.each(Object.entries(feedChanges))(
    'changes with %s, if the clock goes back',
    async (_, change) => {
      const url = serve('/a', 'First');
      await clientOf(url);
      const changed = async () => {
        const { rows } = await context.owner.query<{ changed: Date }>(
          'SELECT changed FROM feed.feeds',
        );
        return (rows[0] as { changed: Date }).changed.getTime();
      };
      await context.owner.query(`UPDATE feed.feeds SET changed = now() + interval '1 hour'`);
      const before = await changed();
      await change(url);
      expect(await changed()).toBe(before + 1);
    },
  );

  it.each<[string, (userId: string) => Promise<unknown>]>([
    ['a title of the listener', (userId) => changeSubscriptions(userId, `title = 'Mine'`)],
    ['a new guid', (userId) => changeSubscriptions(userId, `guid = '${randomUUID()}'`)],
    [
      'the end of the subscription',
      (userId) => changeSubscriptions(userId, 'is_subscribed = false'),
    ],
    ['a new subscription', (userId) => context.follow(userId, 'https://b.example/')],
  ])('changes with %s', async (_, change) => {
    const client = await clientOf(serve('/a', 'First'));
    await change(client.userId);
    expect(await client.poll()).toBe(true);
  });

  it('changes with a row that becomes the first of the next page', async () => {
    const { userId } = await clientOf(serve('/a', 'First'));
    const read = async () =>
      (await context.service.listPodcasts({ userId, after: 0, perPage: 1 })).version;
    const before = await read();
    await context.follow(userId, 'https://b.example/');
    expect(await read()).not.toBe(before);
  });

  it('changes with a transaction that started before, and commits after the read', async () => {
    const url = serve('/a', 'First');
    const client = await clientOf(url);
    const other = serve('/b', 'Other');
    await context.follow(client.userId, other);
    await client.poll();
    const writer = new pg.Client({ connectionString: context.ownerUrl });
    await writer.connect();
    await writer.query('BEGIN');
    await writer.query(
      `UPDATE feed.feeds SET title = 'Late', changed = now() WHERE url_sha256 = $1`,
      [feedKey(url)],
    );
    // A later change of another feed is visible first.
    await push(other, 'Early');
    expect(await client.poll()).toBe(true);
    expect(client.podcasts).toMatchObject([{ title: 'First' }, { title: 'Early' }]);
    await writer.query('COMMIT');
    await writer.end();
    expect(await client.poll()).toBe(true);
    expect(client.podcasts).toMatchObject([{ title: 'Late' }, { title: 'Early' }]);
  });

  it('does not show whether other users follow a new feed', async () => {
    const url = serve('/a', 'First');
    const client = new Client(freshUser());
    await context.follow(client.userId, url, new Date().toISOString());
    await client.poll();
    await fetched(context, url);
    expect([await client.poll(), client.podcasts]).toMatchObject([false, [{ status: 'pending' }]]);
    await changeSubscriptions(client.userId, 'title = NULL', 9);
    expect([await client.poll(), client.podcasts]).toMatchObject([true, [{ title: 'First' }]]);
  });

  it('hides no change of feeds that others store at the same time', async () => {
    const userId = freshUser();
    const urls = Array.from({ length: 5 }, (_, n) => `https://a.example/${n}`);
    for (const url of urls) await context.follow(userId, url);
    const clients = Array.from({ length: 4 }, () => new Client(userId));
    const writes = Array.from({ length: 40 }, (_, n) => n);
    const write = async () => {
      for (let n = writes.pop(); n !== undefined; n = writes.pop())
        await push(urls[n % urls.length] as string, `${n}`);
    };
    const poll = async (client: Client) => {
      while (writes.length > 0) await client.poll();
    };
    await Promise.all([write(), write(), write(), ...clients.map(poll)]);
    const all = await context.podcasts(userId);
    for (const client of clients) {
      await client.poll();
      expect(client.podcasts).toEqual(all);
    }
  });
});

it('a read that returns no rows keeps its feeds scheduled', async () => {
  const client = await clientOf(serve('/a', 'First'));
  await context.owner.query(`UPDATE feed.feeds SET last_read_at = now() - interval '2 days'`);
  expect(await client.poll()).toBe(false);
  const { rows } = await context.owner.query(
    `SELECT FROM feed.feeds WHERE last_read_at > now() - interval '1 hour'`,
  );
  expect(rows).toHaveLength(1);
});
