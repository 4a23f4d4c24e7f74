import { beforeAll, describe, expect, test } from 'vitest';
import type { EpisodePage, SubscriptionPage } from './interface.js';
import { episode, feed, numbers } from './samples.js';
import { baseUrl } from './stack.js';
import { User } from './user.js';

type Page = SubscriptionPage & EpisodePage;

async function userWithTen(): Promise<User> {
  const ann = await User.fresh();
  const [first] = await ann.subscribe(...numbers(10).map(feed));
  await ann.upload(...numbers(10).map((n) => episode(first?.guid ?? '', n)));
  return ann;
}

describe.each(['subscriptions', 'episodes'] as const)('links of GET /%s', (list) => {
  let ann: User;
  beforeAll(async () => {
    ann = await userWithTen();
  });

  const page = async (path: string) => (await ann.get<Page>(path)).body;
  const names = (body: Page) => body[list].map((row) => ('title' in row ? row.title : row.feed_url));
  const expected = numbers(10).map((n) => (list === 'episodes' ? `Title of ${n}` : feed(n)));

  /** All pages from one on, by its links in one direction. */
  async function walk(path: string, direction: 'next' | 'previous'): Promise<Page[]> {
    const pages = [await page(path)];
    for (let link = pages[0]?.[direction]; link !== undefined; link = pages.at(-1)?.[direction]) {
      pages.push(await page(link));
      expect(pages.length).toBeLessThan(20);
    }
    return pages;
  }

  test('next leads through every row once', async () => {
    const pages = await walk(`/${list}?per_page=3`, 'next');
    expect(pages.flatMap(names)).toEqual(expected);
    expect(pages.map((body) => body.page)).toEqual([1, 2, 3, 4]);
    expect(pages.map((body) => body.total)).toEqual([10, 10, 10, 10]);
  });

  test('previous leads back through every row', async () => {
    const last = (await walk(`/${list}?per_page=3`, 'next')).at(-1);
    const pages = await walk(last?.previous ?? '', 'previous');
    expect(pages.toReversed().flatMap(names)).toEqual(expected.slice(0, 9));
    expect(pages.map((body) => body.page)).toEqual([3, 2, 1]);
  });

  test('are absent at the ends', async () => {
    const pages = await walk(`/${list}?per_page=5`, 'next');
    expect(pages.map((body) => ['previous' in body, 'next' in body])).toEqual([
      [false, true],
      [true, false],
    ]);
    const all = await page(`/${list}?per_page=10`);
    expect(['previous' in all, 'next' in all]).toEqual([false, false]);
  });

  test('start from a page by number as well', async () => {
    const third = await page(`/${list}?per_page=3&page=3`);
    expect(names(third)).toEqual(expected.slice(6, 9));
    expect(names(await page(third.next ?? ''))).toEqual(expected.slice(9));
    expect(names(await page(third.previous ?? ''))).toEqual(expected.slice(3, 6));
  });

  test('lead back from a page past the end', async () => {
    const past = await page(`/${list}?per_page=3&page=9`);
    expect([names(past), past.next]).toEqual([[], undefined]);
    const back = await page(past.previous ?? '');
    expect(names(back)).toEqual(expected.slice(7));
  });

  test('are absolute, with the base the request was sent to', async () => {
    const { next } = await page(`/${list}?per_page=3`);
    expect(next?.startsWith(`${baseUrl}/${list}?`)).toBe(true);
  });

  test('keep the prefix they were asked with', async () => {
    const { next } = await page(`/v1/${list}?per_page=3`);
    expect(next?.startsWith(`${baseUrl}/v1/${list}?`)).toBe(true);
  });

  test('keep every other parameter', async () => {
    const since = '2020-01-01T00:00:00.000Z';
    const { next } = await page(`/${list}?since=${since}&per_page=3&color=red&color=blue&empty=`);
    const parameters = new URL(next ?? '').searchParams;
    expect(parameters.get('since')).toBe(since);
    expect(parameters.get('per_page')).toBe('3');
    expect(parameters.getAll('color')).toEqual(['red', 'blue']);
    expect(parameters.get('empty')).toBe('');
    expect([parameters.get('page'), parameters.has('cursor')]).toEqual(['2', true]);
  });

  test('with a usable cursor, page is only a label', async () => {
    const link = new URL((await page(`/${list}?per_page=3`)).next ?? '');
    link.searchParams.set('page', '77');
    const answer = await page(link.href);
    expect([answer.page, names(answer)]).toEqual([77, expected.slice(3, 6)]);
  });

  test('per_page can change on the way', async () => {
    const link = new URL((await page(`/${list}?per_page=3`)).next ?? '');
    link.searchParams.set('per_page', '5');
    expect(names(await page(link.href))).toEqual(expected.slice(3, 8));
  });

  describe('a cursor counts as not sent and is named in Ignored-Parameters when it', () => {
    async function expectIgnored(link: string, asker = ann, total = 10) {
      const { status, headers, body } = await asker.get<Page>(link);
      expect([status, headers.get('ignored-parameters'), body.total]).toEqual([200, 'cursor', total]);
    }
    const altered = async (alter: (cursor: string) => string) => {
      const link = new URL((await page(`/${list}?per_page=3`)).next ?? '');
      link.searchParams.set('cursor', alter(link.searchParams.get('cursor') ?? ''));
      return link.href;
    };

    test.each([
      ['lost its end', (cursor: string) => cursor.slice(0, -1)],
      ['has something more', (cursor: string) => `${cursor}A`],
      ['has another first letter', (cursor: string) => (cursor.startsWith('A') ? 'B' : 'A') + cursor.slice(1)],
      ['is empty', () => ''],
      ['is nonsense', () => '\u0000☂'],
    ])('%s', async (_, alter) => expectIgnored(await altered(alter)));

    test('was made for another user', async () => {
      await expectIgnored((await page(`/${list}?per_page=3`)).next ?? '', await User.fresh(), 0);
    });

    test('was made for the other list', async () => {
      const { next } = await page(`/${list}?per_page=3`);
      await expectIgnored((next ?? '').replace(list, list === 'episodes' ? 'subscriptions' : 'episodes'));
    });

    test('was made for another since', async () => {
      await expectIgnored(`${(await page(`/${list}?per_page=3`)).next}&since=2020-01-01T00:00:00Z`);
    });
  });
});
