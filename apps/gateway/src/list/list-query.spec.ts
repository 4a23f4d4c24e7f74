import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Cursor, Cursors } from './cursor.js';
import { readListQuery } from './list-query.js';

const scope = {
  userId: 'aaaaaaaa-aaaa-4aaa-aaaa-aaaaaaaaaaaa',
  list: 'episodes',
  maxPerPage: 1_000,
};
const cursors = new Cursors('a-key-of-tests-that-is-long-enough');
const read = (query: string, maxPerPage = scope.maxPerPage) =>
  readListQuery(new URLSearchParams(query), { ...scope, maxPerPage }, cursors);
const none = {
  since: undefined,
  podcastGuid: undefined,
  page: 1,
  perPage: 50,
  cursor: undefined,
  scope: { userId: scope.userId, list: 'episodes', since: undefined },
  ignored: [],
};
const withSince = (since: string) => ({ ...none, since, scope: { ...none.scope, since } });
const guid = 'bbbbbbbb-bbbb-4bbb-abbb-bbbbbbbbbbbb';

describe('readListQuery', () => {
  it('defaults to page 1, 50 rows and no `since`', () => {
    expect(read('')).toEqual(none);
  });

  it('returns the sent values', () => {
    expect(read('since=2026-01-01T00:00:00Z&page=3&per_page=1000')).toEqual({
      ...withSince('2026-01-01T00:00:00.000Z'),
      page: 3,
      perPage: 1_000,
    });
  });

  it('ignores other parameters silently', () => {
    expect(read('device=phone')).toEqual(none);
  });

  it.each([
    ['2026-01-01T00:00:00.1239Z', '2026-01-01T00:00:00.123Z'],
    ['2026-01-01T00:00:00.9999999Z', '2026-01-01T00:00:00.999Z'],
    ['2026-01-01T02:00:00%2B02:00', '2026-01-01T00:00:00.000Z'],
    ['2026-01-01T02:00:00+02:00', '2026-01-01T00:00:00.000Z'],
    ['2025-12-31t23:00:00-01:00', '2026-01-01T00:00:00.000Z'],
  ])('cuts `since` to milliseconds, with any offset and a + sent as a space: %s', (since, used) => {
    expect(read(`since=${since}`)).toEqual(withSince(used));
  });

  it.each([
    'yesterday',
    '',
    '2026-01-01',
    '2026-01-01T00:00:00',
    '1767225600',
    '2026-02-30T00:00:00Z',
  ])('ignores an invalid `since` and names it: "%s"', (since) =>
    expect(read(`since=${since}`)).toEqual({ ...none, ignored: ['since'] }),
  );

  it.each(['0', '-1', '1.5', '', 'x', '1e3', '%201', '+1'])(
    'ignores an invalid page or per_page and names it: "%s"',
    (value) => {
      expect(read(`page=${value}`)).toEqual({ ...none, ignored: ['page'] });
      expect(read(`per_page=${value}`)).toEqual({ ...none, ignored: ['per_page'] });
    },
  );

  it.each(['9007199254740992', '9'.repeat(400)])(
    'ignores a page above the largest safe integer: %s',
    (value) => {
      expect(read(`page=${value}`)).toEqual({ ...none, ignored: ['page'] });
    },
  );

  it.each(['1001', '9007199254740991', '99999999999999999999'])(
    'clamps per_page above the limit and names it: %s',
    (value) => {
      expect(read(`per_page=${value}`)).toEqual({ ...none, perPage: 1_000, ignored: ['per_page'] });
    },
  );

  it('ignores a parameter that is sent twice', () => {
    expect(read('page=2&page=3')).toEqual({ ...none, ignored: ['page'] });
  });

  it('limits the rows by default as well', () => {
    expect(read('', 20)).toEqual({ ...none, perPage: 20 });
  });

  it('accepts a cursor of this list with this `since`, and names others', () => {
    const cursor: Cursor = {
      direction: 'after',
      boundary: 42,
      syncTimestamp: '2026-02-02T12:00:00.123Z',
      total: 9,
    };
    const text = cursors.encode(cursor, { ...scope, since: '2026-01-01T00:00:00.000Z' });
    expect(read(`since=2026-01-01T00:00:00Z&page=2&cursor=${text}`)).toMatchObject({
      cursor,
      page: 2,
      ignored: [],
    });
    expect(read(`page=2&cursor=${text}`)).toEqual({ ...none, page: 2, ignored: ['cursor'] });
    expect(read('since=x&page=0&per_page=-&cursor=y').ignored).toEqual([
      'since',
      'page',
      'per_page',
      'cursor',
    ]);
  });

  it('accepts a cursor only with the podcast that it was made for', () => {
    const of = read(`podcast_guid=${guid.toUpperCase()}`);
    expect(of.podcastGuid).toBe(guid);
    const text = cursors.encode(
      { direction: 'after', boundary: 1, syncTimestamp: '2026-01-01T00:00:00.000Z', total: 1 },
      of.scope,
    );
    expect(read(`podcast_guid=${guid}&cursor=${text}`)).toMatchObject({ cursor: {}, ignored: [] });
    for (const other of ['', `podcast_guid=${scope.userId}&`])
      expect(read(`${other}cursor=${text}`).ignored).toEqual(['cursor']);
    expect(read('podcast_guid=x')).toEqual({ ...none, ignored: ['podcast_guid'] });
  });

  it('accepts any query', () => {
    const parameter = fc.tuple(
      fc.constantFrom('since', 'page', 'per_page', 'cursor', 'x'),
      fc.string(),
    );
    fc.assert(
      fc.property(fc.array(parameter), (parameters) => {
        const { page, perPage } = read(String(new URLSearchParams(parameters)));
        expect(page >= 1 && perPage >= 1 && perPage <= 1_000).toBe(true);
      }),
    );
  });
});
