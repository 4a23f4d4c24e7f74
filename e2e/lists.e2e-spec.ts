import { beforeAll, describe, expect, test } from 'vitest';
import type { EpisodePage, SubscriptionPage } from './interface.js';
import { episode, feed, numbers } from './samples.js';
import { baseUrl } from './stack.js';
import { User } from './user.js';

// Unit tests of the gateway own the rules: list-query, query-string, cursor, page-links and etag.
// subscription-list.repository.int-spec.ts and episode.service.int-spec.ts own the contents.

type Page = SubscriptionPage & EpisodePage;

const never = '1970-01-01T00:00:00.000Z';

/** A user with ten subscriptions, one of which has ten episodes. */
async function userWithTen(): Promise<{ ann: User; guid: string }> {
  const ann = await User.fresh();
  const [first] = await ann.subscribe(...numbers(10).map(feed));
  const guid = first?.guid ?? '';
  await ann.upload(...numbers(10).map((n) => episode(guid, n)));
  return { ann, guid };
}

/** Returns the names in `Vary`; a compressed answer repeats one of them. */
const fieldsOf = (vary: string | null) => new Set(vary?.toLowerCase().split(/, */));

describe.each(['subscriptions', 'episodes'] as const)('GET /%s', (list) => {
  const path = `/${list}`;
  const names = (body: Page) =>
    body[list].map((row) => ('title' in row ? row.title : row.feed_url));
  const expected = numbers(10).map((n) => (list === 'episodes' ? `Title of ${n}` : feed(n)));

  test('has links that show nothing of the rows that other users add', async () => {
    const { ann, guid } = await userWithTen();
    const last = async (perPage: number) => {
      const { body } = await ann.get<Page>(`${path}?per_page=${perPage}`);
      return Buffer.from(new URL(body.next ?? '').searchParams.get('cursor') ?? '', 'base64url');
    };
    const cursors = [await last(8), await last(9)];
    const bob = await userWithTen();
    await bob.ann.upload(...numbers(100).map((n) => episode(bob.guid, 10 + n)));
    expect(await last(9)).toEqual(cursors[1]);
    await ann.subscribe(feed(11), feed(12));
    await ann.upload(episode(guid, 11), episode(guid, 12));
    cursors.push(await last(10), await last(11));
    // Row ids of all users have one sequence. Two texts that depend on them look unrelated.
    for (const [index, one] of cursors.entries())
      for (const other of cursors.slice(index + 1)) {
        expect(other.length).toBe(one.length);
        expect(one.filter((byte, place) => byte === other[place]).length).toBeLessThan(8);
      }
  });

  describe('answers', () => {
    let ann: User;
    beforeAll(async () => {
      ({ ann } = await userWithTen());
    });
    const page = async (link: string) => (await ann.get<Page>(link)).body;

    test('without parameters with page 1 of 50 rows, oldest first', async () => {
      const { status, headers, body } = await ann.get<Page>(path);
      expect([status, names(body), headers.get('ignored-parameters')]).toEqual([
        200,
        expected,
        null,
      ]);
      expect(body).toEqual({ total: 10, page: 1, per_page: 50, [list]: body[list] });
    });

    test('without an error for invalid parameters, which Ignored-Parameters names', async () => {
      const query = 'since=x&page=0&per_page=-5&cursor=%00&color=red';
      const { status, headers, body } = await ann.get<Page>(`${path}?${query}`);
      const used = { total: 10, page: 1, per_page: 50 };
      expect({ status, body }).toMatchObject({ status: 200, body: used });
      expect(headers.get('ignored-parameters')).toBe('since, page, per_page, cursor');
      expect(headers.get('cache-control')).toBe('private, no-cache');
      expect([...fieldsOf(headers.get('vary'))]).toEqual(
        expect.arrayContaining(['accept-encoding', 'authorization']),
      );
      const clamped = await ann.get<Page>(`${path}?per_page=251`);
      expect([clamped.body.per_page, clamped.headers.get('ignored-parameters')]).toEqual([
        250,
        'per_page',
      ]);
      expect((await ann.get(`${path}?per_page=250`)).headers.get('ignored-parameters')).toBeNull();
    });

    test('with links that visit every row once, forward and back', async () => {
      const pages = [await page(`${path}?per_page=3`)];
      for (let { next } = pages[0]!; next !== undefined; { next } = pages.at(-1)!)
        pages.push(await page(next));
      expect(pages.map(names)).toEqual(
        [0, 3, 6, 9].map((first) => expected.slice(first, first + 3)),
      );
      expect(pages.map((body) => [body.page, body.total])).toEqual(
        [1, 2, 3, 4].map((number) => [number, 10]),
      );
      const back = [pages.at(-1)!];
      for (let { previous } = back[0]!; previous !== undefined; { previous } = back[0]!)
        back.unshift(await page(previous));
      expect(back.map(names)).toEqual(pages.map(names));
    });

    test('with absolute links that keep the prefix and every other parameter', async () => {
      const { next } = await page(`${path}?per_page=3`);
      expect(next?.startsWith(`${baseUrl}${path}?`)).toBe(true);
      const since = '2020-01-01T00:00:00.000Z';
      const link = await page(`/v1${path}?since=${since}&per_page=3&color=red&color=blue&empty=`);
      expect(link.next?.startsWith(`${baseUrl}/v1${path}?`)).toBe(true);
      const sent = new URL(link.next ?? '').searchParams;
      const kept = ['since', 'per_page', 'page', 'empty'].map((name) => sent.get(name));
      expect([kept, sent.getAll('color')]).toEqual([
        [since, '3', '2', ''],
        ['red', 'blue'],
      ]);
    });

    test('with a link whose page and per_page can be changed', async () => {
      const link = new URL((await page(`${path}?per_page=3`)).next ?? '');
      link.searchParams.set('page', '77');
      link.searchParams.set('per_page', '5');
      const changed = await page(link.href);
      expect([changed.page, names(changed)]).toEqual([77, expected.slice(3, 8)]);
    });
  });

  describe('has an ETag that', () => {
    const etagOf = async (ann: User, link = path) =>
      (await ann.get(link)).headers.get('etag') ?? '';
    const ask = (ann: User, etag: string, link = path) => ann.get(link, { 'if-none-match': etag });

    test('gets 304 with the same headers until the user writes, also for HEAD', async () => {
      const { ann, guid } = await userWithTen();
      const { headers } = await ann.get(path);
      const etag = headers.get('etag') ?? '';
      expect(etag).toMatch(/^W\/"[!-~]+"$/);
      await (await User.fresh()).subscribed();
      for (const sent of [etag, `"x", W/"y", ${etag}`, '*']) {
        const answer = await ask(ann, sent);
        expect([answer.status, answer.text]).toEqual([304, '']);
        for (const name of ['etag', 'sync-timestamp', 'cache-control'])
          expect(answer.headers.get(name)).toBe(headers.get(name));
        expect(fieldsOf(answer.headers.get('vary'))).toEqual(fieldsOf(headers.get('vary')));
      }
      const head = await ann.send('HEAD', path, { headers: { 'if-none-match': etag } });
      expect([head.status, head.headers.get('etag')]).toEqual([304, etag]);
      const writes = [
        () => ann.subscribe(feed(2)),
        () => ann.uploaded(episode(guid, 11)),
        () => ann.update(guid, { is_subscribed: false }),
        () => ann.deleted(guid),
      ];
      for (const write of writes) {
        const before = await etagOf(ann);
        await write();
        expect((await ask(ann, before)).status).toBe(200);
      }
    });

    test('depends on its user and its whole URL', async () => {
      const { ann } = await userWithTen();
      const etag = await etagOf(ann);
      expect((await ask(await User.fresh(), etag)).status).toBe(200);
      for (const other of [`${path}?per_page=7`, `/v1${path}`])
        expect((await ask(ann, etag, other)).status).toBe(200);
      const ignored = `${path}?page=x`;
      const again = await ask(ann, await etagOf(ann, ignored), ignored);
      expect([again.status, again.headers.get('ignored-parameters')]).toEqual([304, 'page']);
    });

    test('is valid for a linked page, which keeps the first Sync-Timestamp', async () => {
      const { ann } = await userWithTen();
      const first = await ann.get<Page>(`${path}?per_page=4`);
      await ann.subscribe(feed(11));
      const link = first.body.next ?? '';
      const second = await ann.get<Page>(link);
      const again = await ask(ann, second.headers.get('etag') ?? '', link);
      expect(again.status).toBe(304);
      const back = await ann.get(second.body.previous ?? '');
      for (const { headers } of [second, again, back])
        expect(headers.get('sync-timestamp')).toBe(first.headers.get('sync-timestamp'));
    });

    test('is valid for a user who never wrote, with Sync-Timestamp 1970', async () => {
      const ann = await User.fresh();
      const etag = await etagOf(ann);
      const answer = await ask(ann, etag);
      expect([answer.status, answer.headers.get('sync-timestamp')]).toEqual([304, never]);
      await ann.subscribed();
      expect((await ask(ann, etag)).status).toBe(200);
    });
  });
});

describe('Sync-Timestamp', () => {
  test("is the stamp of the user's last write, in both lists", async () => {
    const [ann, bob] = [await User.fresh(), await User.fresh()];
    const [made] = await ann.subscribe(feed(1));
    await bob.subscribed();
    for (const { sync } of [await ann.subscriptions(), await ann.episodes()])
      expect(sync).toBe(made?.subscription_changed);
  });

  test('is the same for all changes of a request, also for a merge with episodes', async () => {
    const ann = await User.fresh();
    const made = await ann.subscribe(feed(1), feed(2));
    expect(made[1]?.subscription_changed).toBe(made[0]?.subscription_changed);
    const [x, y] = made.map(({ guid }) => guid) as [string, string];
    await ann.upload(...[x, y, x, y].map((guid, n) => episode(guid, n)));
    const { sync } = await ann.episodes();
    const merge = await ann.update(x, { new_feed_url: feed(2), new_guid: y });
    expect(merge.guid_changed).toBe(merge.subscription_changed);
    expect((await ann.subscriptions()).sync).toBe(merge.guid_changed);
    expect((await ann.episodes({ since: sync })).total).toBe(2);
    expect((await ann.episodes({ since: merge.guid_changed ?? '' })).total).toBe(0);
  });
});
