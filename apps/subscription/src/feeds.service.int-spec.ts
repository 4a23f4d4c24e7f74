import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Failure, podcastGuid, type ReplyOf, type listFeeds } from '#contracts';
import { freshUser } from '#testing';
import { call } from '../../../libs/transport/testing/handler-call.js';
import { type Entry, sentBody } from '../testing/sent-entry.js';
import { openService, type ServiceContext } from '../testing/service-context.js';
import { maxUrlsPerPage } from './feeds.repository.js';

let context: ServiceContext;
let userId: string;

beforeAll(async () => {
  context = await openService({ QUOTA_LIVE_SUBSCRIPTIONS: 1_200 });
});
afterAll(() => context.close());
beforeEach(() => {
  userId = freshUser();
});

const feed = (name: string | number) => `https://podcast.example/${name}`;
const [a, b, c] = [feed('a'), feed('b'), feed('c')] as const;

type Reply = ReplyOf<typeof listFeeds>;

/** A gpodder client with its own app password. */
class Client {
  constructor(
    readonly credentialId = randomUUID(),
    readonly sessionId: string | undefined = randomUUID(),
  ) {}

  list(since: number): Promise<Reply> {
    const reader = { credentialId: this.credentialId, sessionId: this.sessionId, since };
    return context.feeds.list({ userId, reader }, call());
  }

  change(
    change: { add?: string[]; titles?: string[]; remove?: string[]; whole?: boolean },
    as = call(),
  ) {
    const { credentialId, sessionId } = this;
    const request = {
      userId,
      credentialId,
      sessionId,
      add: [],
      remove: [],
      whole: false,
      ...change,
    };
    return context.feeds.change(request, as);
  }
}

const ensure = (feedUrl: string, as = call()) => context.feeds.ensure({ userId, feedUrl }, as);

let client: Client;
beforeEach(() => {
  client = new Client();
});

const post = (...entries: Entry[]) =>
  context.service.subscribe({ userId, body: sentBody(entries) }, call());
const patch = (guid: string, change: object) =>
  context.service.update({ userId, guid, ...change }, call());
const unsubscribe = (feedUrl: string) => patch(podcastGuid(feedUrl), { isSubscribed: false });
const feedOf = (feedUrl: string) => ({ feedUrl, guid: podcastGuid(feedUrl) });

async function clock(): Promise<unknown> {
  const { rows } = await context.owner.query(
    'SELECT stamp FROM sync.user_clock WHERE user_id = $1',
    [userId],
  );
  return rows[0];
}

/** Sets the columns of a subscription as a PENDING deletion does. */
const requestDeletion = (feedUrl: string) =>
  context.owner.query(
    `UPDATE subscription.subscriptions SET deletion_id = 1, is_subscribed_at = now()
     WHERE user_id = $1 AND feed_url = $2`,
    [userId, feedUrl],
  );

describe('the list of feeds', () => {
  it('returns a timestamp above 1 for a user without data', async () => {
    const { timestamp, ...rest } = await client.list(0);
    expect(rest).toEqual({ add: [], remove: [] });
    expect(timestamp).toBeGreaterThan(1);
  });

  it('returns only the subscribed feeds to a client without data', async () => {
    await post({ feedUrl: a }, { feedUrl: b });
    await unsubscribe(a);
    expect(await client.list(0)).toMatchObject({ add: [b], remove: [] });
  });

  it('returns each change since the timestamp once', async () => {
    await post({ feedUrl: a });
    const first = await client.list(0);
    await post({ feedUrl: b });
    await unsubscribe(a);
    const second = await client.list(first.timestamp);
    expect(second).toMatchObject({ add: [b], remove: [a] });
    expect(second.timestamp).toBeGreaterThan(first.timestamp);
    expect(await client.list(second.timestamp)).toEqual({
      timestamp: second.timestamp,
      add: [],
      remove: [],
    });
  });

  it('omits feeds that were already subscribed, even if other fields changed', async () => {
    await post({ feedUrl: a }, { feedUrl: b }, { feedUrl: c });
    const { timestamp } = await client.list(0);
    await patch(podcastGuid(a), { newFeedUrl: feed('moved') });
    await patch(podcastGuid(b), { newGuid: randomUUID() });
    await post({ feedUrl: c });
    expect(await client.list(timestamp)).toMatchObject({ add: [], remove: [] });
    expect(await client.list(0)).toMatchObject({ add: [feed('moved'), b, c] });
  });

  it('returns the titles of feeds if at least one has a title', async () => {
    await post({ feedUrl: a }, { feedUrl: b, title: 'B' });
    expect(await client.list(0)).toMatchObject({ add: [a, b], titles: [null, 'B'] });
    await patch(podcastGuid(b), { title: '' });
    expect(await client.list(0)).not.toHaveProperty('titles');
  });

  it('stores the title of an upload only if the listener never set or removed one', async () => {
    const titles = async () => (await client.list(0)).titles;
    await client.change({ add: [a, b], titles: ['A', ''] });
    expect(await titles()).toEqual(['A', null]);
    await client.change({ add: [a, b], titles: ['Other', 'B'] });
    expect(await titles()).toEqual(['A', 'B']);
    const before = await clock();
    await client.change({ add: [a, b], titles: ['Other', 'Other'] });
    expect(await clock()).toEqual(before);
    await patch(podcastGuid(a), { title: '' });
    await client.change({ add: [a, b], titles: ['A', 'B'], whole: true });
    expect(await titles()).toEqual([null, 'B']);
  });

  it('omits subscriptions that were never subscribed', async () => {
    const { timestamp } = await client.list(0);
    await ensure(a);
    expect(await client.list(timestamp)).toMatchObject({ add: [], remove: [] });
    expect(await client.list(0)).toMatchObject({ add: [] });
  });

  it('removes an unsubscribed feed by all URLs that it ever had', async () => {
    const guid = randomUUID();
    await post({ feedUrl: a, guid });
    await post({ feedUrl: b, guid });
    await post({ feedUrl: 'http://podcast.example/b' });
    await patch(guid, { newFeedUrl: c });
    const { timestamp } = await client.list(0);
    await patch(guid, { isSubscribed: false });
    const { remove } = await client.list(timestamp);
    expect(remove.toSorted()).toEqual([a, b, c, 'http://podcast.example/b'].toSorted());
  });

  it('removes a merged feed by the URLs of both, once it is unsubscribed', async () => {
    await post({ feedUrl: a }, { feedUrl: b });
    const { timestamp } = await client.list(0);
    await patch(podcastGuid(a), { newFeedUrl: b });
    expect(await client.list(timestamp)).toMatchObject({ add: [], remove: [] });
    await patch(podcastGuid(a), { isSubscribed: false });
    const { remove } = await client.list(timestamp);
    expect(remove.toSorted()).toEqual([a, b]);
  });

  it('removes a feed that was unsubscribed and then merged', async () => {
    await post({ feedUrl: a }, { feedUrl: b });
    await unsubscribe(a);
    const { timestamp } = await client.list(0);
    await unsubscribe(b);
    await patch(podcastGuid(a), { newGuid: podcastGuid(b) });
    expect((await client.list(timestamp)).remove).toContain(b);
  });

  it('removes a deleted feed after its deletion, not while it is pending', async () => {
    await post({ feedUrl: a });
    const { timestamp } = await client.list(0);
    await requestDeletion(a);
    expect(await client.list(timestamp)).toMatchObject({ add: [], remove: [] });
    await context.deleteSubscription(userId, a);
    expect(await client.list(timestamp)).toMatchObject({ add: [], remove: [a] });
  });

  it('does not remove a URL that now belongs to another feed', async () => {
    const guid = randomUUID();
    await post({ feedUrl: a }, { feedUrl: b, guid });
    const { timestamp } = await client.list(0);
    await context.deleteSubscription(userId, a);
    await patch(guid, { newFeedUrl: a });
    expect((await client.list(timestamp)).remove).toEqual([]);
  });

  it('returns all subscribed feeds and later removals to a client without K', async () => {
    await post({ feedUrl: a }, { feedUrl: b });
    await unsubscribe(a);
    const { timestamp } = await client.list(0);
    await post({ feedUrl: c });
    await unsubscribe(b);
    expect(await new Client().list(timestamp)).toMatchObject({ add: [c], remove: [b] });
  });

  it('returns all subscribed feeds without a reader, and stores nothing', async () => {
    await post({ feedUrl: a });
    const before = await clock();
    expect(await context.feeds.list({ userId }, call())).toMatchObject({ add: [a], remove: [] });
    expect(await clock()).toEqual(before);
  });

  it('continues each page after the previous one', async () => {
    const urls = Array.from({ length: 2 * maxUrlsPerPage + 1 }, (_, n) => feed(n));
    await post(...urls.map((feedUrl) => ({ feedUrl })));
    const reader = { credentialId: client.credentialId, since: 0 };
    const pages = [await context.feeds.list({ userId, reader }, call())];
    for (let { next } = pages[0] as Reply; next; next = pages.at(-1)?.next)
      pages.push(await context.feeds.list({ userId, reader, further: next }, call()));
    expect(pages.map(({ add }) => add.length)).toEqual([maxUrlsPerPage, maxUrlsPerPage, 1]);
    expect(pages.flatMap(({ add }) => add)).toEqual(urls);
  });

  it('spreads the URLs of one feed over several pages, each URL once', async () => {
    await post({ feedUrl: a }, { feedUrl: b }, { feedUrl: c });
    await context.owner.query(
      `INSERT INTO subscription.feed_urls (user_id, url_sha256, subscription_id, url)
       SELECT $1, sync.sha256(n::text), s.id, n::text
       FROM subscription.subscriptions s, generate_series(1, $2::int) n
       WHERE s.user_id = $1 AND s.feed_url = $3`,
      [userId, maxUrlsPerPage * 2, b],
    );
    const { timestamp } = await client.list(0);
    for (const feedUrl of [a, b, c]) await unsubscribe(feedUrl);
    const [removed, sizes]: [string[], number[]] = [[], []];
    for (let page: Reply | undefined = await client.list(timestamp); page;) {
      removed.push(...page.remove);
      sizes.push(page.remove.length);
      page = page.next && (await context.feeds.list({ userId, further: page.next }, call()));
    }
    expect(sizes).toEqual([maxUrlsPerPage, maxUrlsPerPage, 3]);
    const former = Array.from({ length: maxUrlsPerPage * 2 }, (_, n) => String(n + 1));
    expect(removed.toSorted()).toEqual([a, b, c, ...former].toSorted());
  });

  it('runs one statement if nothing was written since', async () => {
    await post({ feedUrl: a });
    const first = await client.list(0);
    await client.list(first.timestamp);
    const before = context.statements();
    await client.list(first.timestamp);
    expect(context.statements() - before).toBe(1);
  });

  it('rejects every request of a refused user', async () => {
    await post({ feedUrl: a });
    await context.owner.query('UPDATE sync.user_clock SET refused = 1 WHERE user_id = $1', [
      userId,
    ]);
    const further = { after: 0, since: 0, first: false };
    const unauthorized = new Failure('unauthorized');
    await expect(client.list(0)).rejects.toEqual(unauthorized);
    await expect(context.feeds.list({ userId, further }, call())).rejects.toEqual(unauthorized);
    await expect(client.change({ add: [b] })).rejects.toEqual(unauthorized);
    await expect(context.feeds.find({ userId, feedUrls: [a] })).rejects.toEqual(unauthorized);
    await expect(context.feeds.count({ userId })).rejects.toEqual(unauthorized);
    await expect(ensure(b)).rejects.toEqual(unauthorized);
  });
});

describe('the number of feeds', () => {
  const count = async () => (await context.feeds.count({ userId })).subscribed;

  it('counts the listed feeds with one statement', async () => {
    expect(await count()).toBe(0);
    await post({ feedUrl: a }, { feedUrl: b }, { feedUrl: c }, { feedUrl: feed('d') });
    await ensure(feed('known'));
    await unsubscribe(a);
    await patch(podcastGuid(b), { newGuid: podcastGuid(c) });
    const before = context.statements();
    expect(await count()).toBe(2);
    expect(context.statements() - before).toBe(1);
    expect((await client.list(0)).add).toHaveLength(2);
  });
});

describe('the first guid of a feed', () => {
  const find = async (...feedUrls: string[]) =>
    (await context.feeds.find({ userId, feedUrls })).feeds;
  const [second, third] = [randomUUID(), randomUUID()];

  it('stays after changes of the guid, and is omitted if it is the current one', async () => {
    await post({ feedUrl: a }, { feedUrl: b });
    await patch(podcastGuid(a), { newGuid: second });
    await patch(second, { newGuid: third });
    const found = { feedUrl: a, guid: third, firstGuid: podcastGuid(a) };
    expect(await find(a, c, b, a)).toEqual([found, null, feedOf(b), found]);
    expect(await client.change({ add: [b, a], remove: [c] })).toMatchObject({
      add: [feedOf(b), found],
      remove: [null],
    });
    expect(await ensure(a)).toEqual({ feed: found });
    await patch(third, { newGuid: podcastGuid(a) });
    expect(await find(a)).toEqual([feedOf(a)]);
  });

  it('stays after a merge, and is returned for the URLs of both', async () => {
    await post({ feedUrl: a }, { feedUrl: b });
    await patch(podcastGuid(a), { newGuid: podcastGuid(b) });
    const merged = { feedUrl: a, guid: podcastGuid(b), firstGuid: podcastGuid(a) };
    expect(await find(a, b)).toEqual([merged, merged]);
  });

  it('needs no statement if no guid has changed', async () => {
    await post({ feedUrl: a });
    const cost = async () => {
      const before = context.statements();
      await find(a);
      return context.statements() - before;
    };
    const unchanged = await cost();
    await patch(podcastGuid(a), { newGuid: second });
    expect(await cost()).toBe(unchanged + 1);
  });
});

describe('a change of feeds', () => {
  it('subscribes and unsubscribes with one stamp', async () => {
    await post({ feedUrl: a });
    expect(await client.change({ add: [b], remove: [a, c] })).toEqual({
      timestamp: 1,
      add: [feedOf(b)],
      remove: [feedOf(a), null],
    });
    const { rows } = await context.owner.query(
      `SELECT feed_url, is_subscribed, flipped = c.stamp AS now,
         subscription_changed = c.stamp AS stamped
       FROM subscription.subscriptions s JOIN sync.user_clock c USING (user_id)
       WHERE user_id = $1 ORDER BY feed_url`,
      [userId],
    );
    expect(rows).toEqual([
      { feed_url: a, is_subscribed: false, now: true, stamped: true },
      { feed_url: b, is_subscribed: true, now: true, stamped: true },
    ]);
  });

  it('writes nothing if it changes nothing', async () => {
    await client.change({ add: [a, b] });
    await client.change({ remove: [b] });
    const before = await clock();
    for (const change of [{ add: [a] }, { remove: [b, c] }, { add: [a], whole: true }, {}])
      await client.change(change);
    for (const url of [a, b]) await ensure(url);
    expect(await clock()).toEqual(before);
    const { rows } = await context.owner.query('SELECT FROM sync.request WHERE user_id = $1', [
      userId,
    ]);
    expect(rows).toHaveLength(2);
  });

  it('is not returned to the client that uploaded it, if that client had all rows', async () => {
    const { timestamp } = await client.list(0);
    const { timestamp: after } = await client.change({ add: [a] });
    expect(after).toBeGreaterThan(timestamp);
    expect(await client.list(after)).toEqual({ timestamp: after, add: [], remove: [] });
    expect(await new Client().list(timestamp)).toMatchObject({ add: [a] });
  });

  it('has the same answer when it is repeated, and does not undo a later change', async () => {
    const requestId = randomUUID();
    const change = () => client.change({ add: [a, b] }, call(requestId));
    const first = await change();
    await client.change({ remove: [a] });
    const before = await clock();
    expect(await change()).toEqual(first);
    expect(await clock()).toEqual(before);
    expect(await client.list(0)).toMatchObject({ add: [b] });
  });

  it('creates one subscription for simultaneous requests', async () => {
    await Promise.all(Array.from({ length: 8 }, () => new Client().change({ add: [a, b] })));
    expect(await client.list(0)).toMatchObject({ add: [a, b] });
    const { rows } = await context.owner.query('SELECT FROM sync.request WHERE user_id = $1', [
      userId,
    ]);
    expect(rows).toHaveLength(1);
  });

  it('of the whole list unsubscribes all feeds that it does not list by any URL', async () => {
    const guid = randomUUID();
    await post({ feedUrl: a, guid }, { feedUrl: b }, { feedUrl: c });
    await patch(guid, { newFeedUrl: feed('moved') });
    const { timestamp } = await client.list(0);
    await client.change({ add: [a, 'http://podcast.example/b/', feed('new')], whole: true });
    expect(await client.list(timestamp)).toMatchObject({ add: [feed('new')], remove: [c] });
    await client.change({ add: [], whole: true });
    expect(await client.list(0)).toMatchObject({ add: [] });
  });

  it('of the whole list unsubscribes like PATCH, and keeps the time of a DELETE', async () => {
    await post({ feedUrl: a }, { feedUrl: b }, { feedUrl: c }, { feedUrl: feed('d') });
    await unsubscribe(feed('d'));
    await requestDeletion(c);
    const rows = async () =>
      (
        await context.owner.query<Record<string, unknown>>(
          `SELECT s.feed_url, s.is_subscribed, s.is_subscribed_at::text, s.deletion_id,
             s.flipped = c.stamp AS flips, s.subscription_changed = c.stamp AS stamped,
             s.changed = c.stamp AS changes
           FROM subscription.subscriptions s JOIN sync.user_clock c USING (user_id)
           WHERE user_id = $1 ORDER BY s.id`,
          [userId],
        )
      ).rows;
    const before = await rows();
    await client.change({ add: [a], whole: true });
    const after = await rows();
    const now = { is_subscribed: false, flips: true, stamped: true, changes: true };
    const none = { flips: false, stamped: false, changes: false };
    expect(after).toEqual([
      { ...before[0], ...none },
      { ...before[1], ...now, is_subscribed_at: after[1]?.['is_subscribed_at'] },
      { ...before[2], ...now },
      { ...before[3], ...none },
    ]);
    const at = after.map((row) => Date.parse(String(row['is_subscribed_at'])));
    expect(at[1]).toBeGreaterThan(at[0] as number);
  });

  it('keeps a feed subscribed that is in both lists by different URLs', async () => {
    await post({ feedUrl: a });
    const before = await clock();
    await client.change({ add: [a], remove: ['http://podcast.example/a'] });
    expect(await clock()).toEqual(before);
  });

  it('matches current, former and equivalent URLs', async () => {
    const guid = randomUUID();
    await post({ feedUrl: a, guid });
    await patch(guid, { newFeedUrl: b });
    const other = 'http://podcast.example/b/';
    const { add } = await client.change({ add: [a, b, other] });
    expect(add).toEqual([a, b, other].map(() => ({ feedUrl: b, guid })));
    const { timestamp } = await client.list(0);
    await client.change({ remove: [other] });
    // Includes the URL that only this client has stored.
    expect((await client.list(timestamp)).remove.toSorted()).toEqual([a, b, other].toSorted());
  });

  it('matches a URL without its percent-encoding', async () => {
    const [encoded, sent] = [feed('x%3Ay%20z?q=%C3%A4'), feed('x:y%20z?q=%C3%A4')];
    await post({ feedUrl: encoded });
    const before = await clock();
    const expected = feedOf(encoded);
    expect(await client.change({ add: [sent] })).toMatchObject({ add: [expected] });
    expect(await ensure(feed('x:y%20z?q=ä'))).toEqual({ feed: expected });
    expect(
      await context.feeds.find({ userId, feedUrls: [feed('x:y%20z?q=ä'), feed('x')] }),
    ).toEqual({
      feeds: [expected, null],
    });
    expect(await clock()).toEqual(before);
    expect(await client.change({ remove: [sent] })).toMatchObject({ remove: [expected] });
    expect(await client.list(0)).toMatchObject({ add: [] });
  });

  it('matches a URL with additional percent-encoding', async () => {
    await post({ feedUrl: feed('x:y') });
    expect(await client.change({ add: [feed('x%3Ay')] })).toMatchObject({
      add: [feedOf(feed('x:y'))],
    });
  });

  it('creates one feed for equal URLs, and also removes its normal form', async () => {
    const [first, second] = ['https://Podcast.example/x', 'https://podcast.example:443/x'];
    await client.change({ add: [first] });
    const expected = feedOf(first);
    expect(await client.change({ add: [second] })).toMatchObject({ add: [expected] });
    expect(await ensure(second)).toEqual({ feed: expected });
    const { timestamp, add } = await client.list(0);
    expect(add).toEqual([first]);
    await client.change({ remove: [second] });
    const other = new Client(client.credentialId, randomUUID());
    expect((await other.list(timestamp)).remove).toEqual([first, feed('x')]);
  });

  it('creates an unsubscribed subscription once for an unknown feed', async () => {
    const requestId = randomUUID();
    expect(await ensure(a, call(requestId))).toEqual({ feed: feedOf(a) });
    const before = await clock();
    expect(await ensure(a, call(requestId))).toEqual({ feed: feedOf(a) });
    expect(await clock()).toEqual(before);
    const { rows } = await context.owner.query(
      `SELECT is_subscribed, flipped, is_subscribed_at FROM subscription.subscriptions
       WHERE user_id = $1`,
      [userId],
    );
    expect(rows).toEqual([{ is_subscribed: false, flipped: null, is_subscribed_at: new Date(0) }]);
    expect(await client.change({ add: [a] })).toMatchObject({ add: [feedOf(a)] });
    expect(await client.list(0)).toMatchObject({ add: [a] });
  });

  it('does not return a deleted feed, but revives it when it is added', async () => {
    await post({ feedUrl: a });
    await context.deleteSubscription(userId, a);
    expect(await ensure(a)).toEqual({ feed: null });
    expect(await client.change({ remove: [a] })).toMatchObject({ remove: [null] });
    expect(await context.feeds.find({ userId, feedUrls: [a] })).toEqual({ feeds: [null] });
    expect(await client.change({ add: [a] })).toMatchObject({ add: [feedOf(a)] });
    expect(await client.list(0)).toMatchObject({ add: [a] });
  });

  it('keeps a pending deletion when a client repeats its list', async () => {
    await post({ feedUrl: a });
    await requestDeletion(a);
    await client.change({ add: [a, b] });
    const { rows } = await context.owner.query(
      'SELECT deletion_id FROM subscription.subscriptions WHERE user_id = $1 AND feed_url = $2',
      [userId, a],
    );
    expect(rows).toEqual([{ deletion_id: '1' }]);
  });

  it('skips invalid URLs and feeds above the quota', async () => {
    expect(await client.change({ add: ['podcast.example', a], remove: [''] })).toMatchObject({
      add: [null, feedOf(a)],
      remove: [null],
      rejections: ['invalid_url'],
    });
    expect(await ensure('ftp://x')).toEqual({ feed: null });
    const many = Array.from({ length: 1_300 }, (_, n) => feed(n));
    const { add, rejections } = await client.change({ add: many });
    expect(add.map((one) => one !== null)).toEqual(many.map((_, n) => n < 1_199));
    expect(rejections).toEqual(Array.from({ length: 101 }, () => 'limit_reached'));
    expect(await ensure(b)).toEqual({ feed: null });
  });
});
