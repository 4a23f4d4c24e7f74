import { beforeAll, describe, expect, test } from 'vitest';
import type { EpisodePage, SubscriptionPage } from './interface.js';
import { episode, feed, numbers } from './samples.js';
import { User } from './user.js';

type Envelope = Pick<SubscriptionPage, 'total' | 'page' | 'per_page' | 'next' | 'previous'>;

/** A user with seven subscriptions, one of which has seven episodes. */
async function userWithSeven(): Promise<User> {
  const ann = await User.fresh();
  const [first] = await ann.subscribe(...numbers(7).map(feed));
  await ann.upload(...numbers(7).map((n) => episode(first?.guid ?? '', n)));
  return ann;
}

/** The rows of a page of either list. */
function rows(page: Partial<SubscriptionPage & EpisodePage>): object[] {
  return page.subscriptions ?? page.episodes ?? [];
}

describe.each(['/subscriptions', '/episodes'])('GET %s', (path) => {
  let ann: User;
  beforeAll(async () => {
    ann = await userWithSeven();
  });

  async function list(query: string) {
    const answer = await ann.get<Envelope & Partial<SubscriptionPage & EpisodePage>>(`${path}?${query}`);
    const { total, page, per_page } = answer.body;
    return { ...answer, used: { total, page, per_page }, ignored: answer.headers.get('ignored-parameters') };
  }

  test('without parameters is page 1 of 50 rows, with everything the user has', async () => {
    const { status, used, ignored, body } = await list('');
    expect({ status, used, ignored }).toEqual({
      status: 200,
      used: { total: 7, page: 1, per_page: 50 },
      ignored: null,
    });
    expect(rows(body)).toHaveLength(7);
    expect(Object.keys(body).sort()).toEqual([path.slice(1), 'page', 'per_page', 'total'].sort());
  });

  test('orders by age of the row: later changes move nothing', async () => {
    const before = rows((await list('')).body);
    if (path === '/subscriptions') await ann.subscribe(feed(1));
    const after = rows((await list('')).body);
    const names = (page: object[]) =>
      page.map((row) => ('feed_url' in row ? row.feed_url : 'title' in row && row.title));
    expect(names(after)).toEqual(names(before));
    expect(names(after)).toEqual(numbers(7).map((n) => (path === '/subscriptions' ? feed(n) : `Title of ${n}`)));
  });

  test('counts all matches before paging in total', async () => {
    expect((await list('per_page=2')).used).toEqual({ total: 7, page: 1, per_page: 2 });
    expect((await list('per_page=2&page=4')).used).toEqual({ total: 7, page: 4, per_page: 2 });
    expect(rows((await list('per_page=2&page=4')).body)).toHaveLength(1);
  });

  test('is empty past the end, with the true total', async () => {
    const { body, used, ignored } = await list('per_page=5&page=3');
    expect({ rows: rows(body), used, ignored }).toEqual({
      rows: [],
      used: { total: 7, page: 3, per_page: 5 },
      ignored: null,
    });
    expect(body.next).toBeUndefined();
    expect((await list('page=9007199254740991')).used).toEqual({ total: 7, page: 9_007_199_254_740_991, per_page: 50 });
  });

  test.each(['0', '-1', 'x', '', '1.5', '1e1', 'NaN', '0x10', '99999999999999999999', '1,2', '%00', ' 1'])(
    'counts page=%s as not sent and says so',
    async (value) => {
      const { status, used, ignored } = await list(`page=${value}`);
      expect({ status, used, ignored }).toEqual({
        status: 200,
        used: { total: 7, page: 1, per_page: 50 },
        ignored: 'page',
      });
    },
  );

  test.each(['0', '-5', 'many', '', '2.5', '1e400'])('counts per_page=%s as not sent and says so', async (value) => {
    const { used, ignored } = await list(`per_page=${value}`);
    expect({ used, ignored }).toEqual({ used: { total: 7, page: 1, per_page: 50 }, ignored: 'per_page' });
  });

  test('clamps per_page to 250 and says so', async () => {
    expect((await list('per_page=250')).ignored).toBeNull();
    for (const perPage of ['251', '1001', '99999999999999999999']) {
      const { used, ignored } = await list(`per_page=${perPage}`);
      expect({ used, ignored }).toEqual({ used: { total: 7, page: 1, per_page: 250 }, ignored: 'per_page' });
    }
  });

  test.each([
    'x',
    '',
    '2023',
    '2023-02-23',
    '2023-02-23T14:00',
    '2023-02-30T14:00:00Z',
    '2023-02-23T25:00:00Z',
    '%00',
    'null',
  ])('counts since=%s as not sent and says so', async (value) => {
    const { used, ignored } = await list(`since=${value}`);
    expect({ used, ignored }).toEqual({ used: { total: 7, page: 1, per_page: 50 }, ignored: 'since' });
  });

  test('counts a parameter that is there twice as not sent', async () => {
    const { used, ignored } = await list('page=2&page=2');
    expect({ used, ignored }).toEqual({ used: { total: 7, page: 1, per_page: 50 }, ignored: 'page' });
  });

  test('names every ignored parameter', async () => {
    const { ignored } = await list('since=x&page=x&per_page=x&cursor=x&color=red');
    expect(ignored?.split(', ').sort()).toEqual(['cursor', 'page', 'per_page', 'since']);
  });

  test('carries the same headers whatever was ignored', async () => {
    const { headers } = await list('page=x');
    expect(headers.get('cache-control')).toBe('private, no-cache');
    expect(headers.get('vary')?.split(/, */)).toEqual(expect.arrayContaining(['Accept-Encoding', 'Authorization']));
    expect(headers.get('etag')).toMatch(/^W\/".+"$/);
  });
});

describe.each(['/subscriptions', '/episodes'])('since at GET %s', (path) => {
  async function total(ann: User, since: string): Promise<number> {
    const { headers, body } = await ann.get<Envelope>(`${path}?since=${since}`);
    expect(headers.get('ignored-parameters')).toBeNull();
    return body.total;
  }

  /** A user with one row in either list, and the stamp of that row. */
  async function userWithOne(): Promise<{ ann: User; stamp: string }> {
    const ann = await User.fresh();
    const [made] = await ann.subscribe(feed(1));
    if (path === '/subscriptions') return { ann, stamp: made?.subscription_changed ?? '' };
    await ann.uploaded(episode(made?.guid ?? '', 1));
    return { ann, stamp: (await ann.episodes()).sync };
  }

  const shifted = (stamp: string, milliseconds: number) => new Date(Date.parse(stamp) + milliseconds).toISOString();

  test('matches what changed strictly later', async () => {
    const { ann, stamp } = await userWithOne();
    expect(await total(ann, shifted(stamp, -1))).toBe(1);
    expect(await total(ann, stamp)).toBe(0);
    expect(await total(ann, shifted(stamp, 1))).toBe(0);
  });

  test('is cut to milliseconds, never rounded', async () => {
    const { ann, stamp } = await userWithOne();
    expect(await total(ann, shifted(stamp, -1).replace('Z', '999999Z'))).toBe(1);
    expect(await total(ann, stamp.replace('Z', '9Z'))).toBe(0);
  });

  test('is any RFC 3339 time: offsets, fractions, and a + that arrived as a space', async () => {
    const { ann, stamp } = await userWithOne();
    const local = (offset: string, hours: number) => shifted(stamp, -1 + hours * 3_600_000).replace('Z', offset);
    for (const since of [local('%2B02:00', 2), local('+02:00', 2), local('-05:30', -5.5), local('%2B00:00', 0)])
      expect(await total(ann, since)).toBe(1);
    for (const since of [local('%2B02:00', 2.001), local('+02:00', 2.001), local('-05:30', -5.499)])
      expect(await total(ann, since)).toBe(0);
    expect(await total(ann, '2023-02-23t14:00:00z')).toBe(1);
    expect(await total(ann, '2023-02-23T14:00:00.5Z')).toBe(1);
    expect(await total(ann, '2023-02-23T14:00:60Z')).toBe(1);
  });

  test('may be any year of four digits', async () => {
    const { ann } = await userWithOne();
    expect(await total(ann, '0001-01-01T00:00:00Z')).toBe(1);
    expect(await total(ann, '9999-12-31T23:59:59.999Z')).toBe(0);
  });

  test('limits total, too', async () => {
    const { ann, stamp } = await userWithOne();
    const guid = await ann.subscribed(feed(2));
    await ann.uploaded(episode(guid, 2));
    const { body } = await ann.get<Envelope>(`${path}?since=${stamp}&per_page=1`);
    expect([body.total, body.next]).toEqual([1, undefined]);
  });

  test('past the end has the true total, too', async () => {
    const { ann, stamp } = await userWithOne();
    const { body } = await ann.get<Envelope>(`${path}?since=${shifted(stamp, -1)}&page=9`);
    expect([body.total, body.page, rows(body)]).toEqual([1, 9, []]);
  });
});
