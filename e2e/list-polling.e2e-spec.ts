import { describe, expect, test } from 'vitest';
import { stampForm } from './http.js';
import type { SubscriptionPage } from './interface.js';
import { episode, feed, numbers } from './samples.js';
import { User } from './user.js';

const never = '1970-01-01T00:00:00.000Z';

describe('Sync-Timestamp', () => {
  test('is 1970 for a user who never wrote, not the wall clock', async () => {
    const ann = await User.fresh();
    expect((await ann.subscriptions()).sync).toBe(never);
    expect((await ann.episodes({ since: '2023-02-23T14:00:00Z' })).sync).toBe(never);
  });

  test("is the user's clock: the stamp of the last write, in both lists", async () => {
    const ann = await User.fresh();
    const [made] = await ann.subscribe(feed(1));
    expect((await ann.subscriptions()).sync).toBe(made?.subscription_changed);
    expect((await ann.episodes()).sync).toBe(made?.subscription_changed);
    expect(made?.subscription_changed).toMatch(stampForm);
  });

  test('sent as since finds nothing until something changes, then that alone', async () => {
    const ann = await User.fresh();
    await ann.subscribe(feed(1), feed(2));
    const { sync } = await ann.subscriptions();
    expect((await ann.subscriptions({ since: sync })).total).toBe(0);
    await ann.subscribe(feed(2));
    expect((await ann.subscriptions({ since: sync })).subscriptions).toMatchObject([{ feed_url: feed(2) }]);
  });

  test('grows with every write, also of the same millisecond', async () => {
    const ann = await User.fresh();
    const stamps: string[] = [];
    for (const n of numbers(20)) stamps.push((await ann.subscribe(feed(n)))[0]?.subscription_changed ?? '');
    expect(stamps).toEqual([...new Set(stamps)].sort());
  });

  test('stands still when only another user writes', async () => {
    const [ann, bob] = [await User.fresh(), await User.fresh()];
    await ann.subscribed();
    const { sync } = await ann.subscriptions();
    await bob.subscribed();
    expect((await ann.subscriptions()).sync).toBe(sync);
  });

  test('on pages of a linked walk is that of its first page', async () => {
    const ann = await User.fresh();
    await ann.subscribe(...numbers(6).map(feed));
    const first = await ann.subscriptions({ per_page: 2 });
    await ann.subscribe(feed(7));
    const second = await ann.get<SubscriptionPage>(first.next ?? '');
    expect(second.headers.get('sync-timestamp')).toBe(first.sync);
    const back = await ann.get<SubscriptionPage>(second.body.previous ?? '');
    expect(back.headers.get('sync-timestamp')).toBe(first.sync);
    expect((await ann.subscriptions({ since: first.sync })).subscriptions).toMatchObject([{ feed_url: feed(7) }]);
  });

  test('one request has one stamp, whatever it changes', async () => {
    const ann = await User.fresh();
    const made = await ann.subscribe(...numbers(10).map(feed));
    expect(new Set(made.map((entry) => entry.subscription_changed)).size).toBe(1);

    const [x, y] = made.map(({ guid }) => guid) as [string, string];
    await ann.upload(...[x, y, x, y].map((guid, n) => episode(guid, n)));
    const { sync } = await ann.episodes();
    const justBefore = new Date(Date.parse(sync) - 1).toISOString();
    expect((await ann.episodes({ since: justBefore })).total).toBe(4);
    expect((await ann.episodes({ since: sync })).total).toBe(0);

    const merge = await ann.update(x, { new_feed_url: feed(2), new_guid: y });
    expect(merge.guid_changed).toBe(merge.subscription_changed);
    expect((await ann.subscriptions()).sync).toBe(merge.guid_changed);
    expect((await ann.episodes({ since: merge.guid_changed ?? '' })).total).toBe(0);
  });
});

describe.each(['/subscriptions', '/episodes'])('the ETag of GET %s', (path) => {
  async function tagged(): Promise<{ ann: User; guid: string; etag: string }> {
    const ann = await User.fresh();
    const guid = await ann.subscribed();
    await ann.uploaded(episode(guid, 1));
    return { ann, guid, etag: (await ann.get(path)).headers.get('etag') ?? '' };
  }

  test('is weak and stays the same while nothing is written', async () => {
    const { ann, etag } = await tagged();
    expect(etag).toMatch(/^W\/"[!-~]+"$/);
    expect((await ann.get(path)).headers.get('etag')).toBe(etag);
  });

  test.each([
    ['the tag', (etag: string) => etag],
    ['the tag as a strong one', (etag: string) => etag.slice(2)],
    ['a list with the tag', (etag: string) => `"x", W/"y", ${etag}`],
    ['any', () => '*'],
  ])('sent back in If-None-Match as %s gets 304 without a body', async (_, header) => {
    const { ann, etag } = await tagged();
    const answer = await ann.get(path, { 'if-none-match': header(etag) });
    expect([answer.status, answer.text]).toEqual([304, '']);
    const { headers } = await ann.get(path);
    for (const name of ['etag', 'sync-timestamp', 'cache-control', 'vary'])
      expect(answer.headers.get(name)).toBe(headers.get(name));
    expect(answer.headers.get('etag')).toBe(etag);
  });

  test('of a page reached by a link gets 304, too, with the Sync-Timestamp of the first page', async () => {
    const { ann, guid } = await tagged();
    await ann.subscribe(feed(2));
    await ann.uploaded(episode(guid, 2));
    const first = await ann.get<SubscriptionPage>(`${path}?per_page=1`);
    await ann.subscribe(feed(3));
    const link = first.body.next ?? '';
    const second = await ann.get(link);
    const again = await ann.get(link, { 'if-none-match': second.headers.get('etag') ?? '' });
    expect(again.status).toBe(304);
    for (const { headers } of [second, again])
      expect(headers.get('sync-timestamp')).toBe(first.headers.get('sync-timestamp'));
    await ann.subscribe(feed(4));
    expect((await ann.get(link, { 'if-none-match': second.headers.get('etag') ?? '' })).status).toBe(200);
  });

  test('names what was ignored in a 304, too', async () => {
    const { ann } = await tagged();
    const etag = (await ann.get(`${path}?page=x`)).headers.get('etag') ?? '';
    const answer = await ann.get(`${path}?page=x`, { 'if-none-match': etag });
    expect([answer.status, answer.headers.get('ignored-parameters')]).toEqual([304, 'page']);
  });

  test.each(['"x"', 'W/"x-y"', 'nonsense', '"', 'W/""'])('is not matched by %s', async (header) => {
    const { ann } = await tagged();
    expect((await ann.get(path, { 'if-none-match': header })).status).toBe(200);
  });

  test('changes with any write of the user', async () => {
    const { ann, guid, etag } = await tagged();
    const writes = [
      () => ann.subscribe(feed(2)),
      () => ann.uploaded(episode(guid, 2)),
      () => ann.update(guid, { is_subscribed: false }),
      () => ann.deleted(guid),
    ];
    for (const write of writes) {
      const before = (await ann.get(path)).headers.get('etag') ?? '';
      await write();
      expect((await ann.get(path, { 'if-none-match': before })).status).toBe(200);
    }
    expect((await ann.get(path, { 'if-none-match': etag })).status).toBe(200);
  });

  test('stays the same when another user writes', async () => {
    const { ann, etag } = await tagged();
    await (await User.fresh()).subscribed();
    expect((await ann.get(path, { 'if-none-match': etag })).status).toBe(304);
  });

  test('is of its whole URL: other parameters and another prefix have their own', async () => {
    const { ann, etag } = await tagged();
    for (const other of [`${path}?per_page=7`, `${path}?x=1`, `/v1${path}`, `${path}?page=x`])
      expect((await ann.get(other, { 'if-none-match': etag })).status).toBe(200);
  });

  test('is of its user', async () => {
    const { etag } = await tagged();
    expect((await (await User.fresh()).get(path, { 'if-none-match': etag })).status).toBe(200);
  });

  test('works for HEAD', async () => {
    const { ann, etag } = await tagged();
    const answer = await ann.send('HEAD', path, { headers: { 'if-none-match': etag } });
    expect([answer.status, answer.headers.get('etag')]).toEqual([304, etag]);
  });

  test('works for a user who never wrote', async () => {
    const ann = await User.fresh();
    const etag = (await ann.get(path)).headers.get('etag') ?? '';
    const answer = await ann.get(path, { 'if-none-match': etag });
    expect([answer.status, answer.headers.get('sync-timestamp')]).toEqual([304, never]);
    await ann.subscribed();
    expect((await ann.get(path, { 'if-none-match': etag })).status).toBe(200);
  });
});
