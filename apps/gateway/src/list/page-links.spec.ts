import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Cursor } from './cursor.js';
import { type LinkedPage, adjacentPagesOf } from './page-links.js';

const perPage = 3;
const syncTimestamp = '2026-02-02T12:00:00.000Z';

/**
 * Returns a page of rows with these ids, like a service: by its number or next to a boundary. From
 * the second page of a walk with `since`, only ids within its range.
 */
function readPage(all: readonly number[], page: number, cursor?: Cursor, since = false) {
  const backward = cursor?.direction === 'before';
  const range = cursor
    ? cursor.range
    : since && all.length > 0
      ? { first: all[0]!, last: all.at(-1)! }
      : undefined;
  const ids = all.filter((id) => !range || (id >= range.first && id <= range.last));
  const ahead = !cursor
    ? ids.slice((page - 1) * perPage)
    : ids.filter((id) => (backward ? id < cursor.boundary : id > cursor.boundary));
  const rows = backward ? ahead.slice(-perPage) : ahead.slice(0, perPage);
  const total = cursor?.total ?? ids.length;
  const ends = { firstId: rows[0], lastId: rows.at(-1), more: ahead.length > rows.length };
  return {
    page,
    rows,
    total,
    ...adjacentPagesOf({ page, perPage, cursor, total, range, syncTimestamp, ...ends }),
  };
}

type Page = ReturnType<typeof readPage>;

/** Follows one kind of link to its end; `ids` can change between the pages. */
function walk(first: Page, link: 'next' | 'previous', ids: () => readonly number[]): Page[] {
  const pages = [first];
  for (
    let neighbour: LinkedPage | undefined = first[link];
    neighbour;
    neighbour = pages.at(-1)?.[link]
  ) {
    pages.push(readPage(ids(), neighbour.page, neighbour.cursor));
    if (pages.length > 100) throw new Error('the walk has no end');
  }
  return pages;
}

const rowsOf = (pages: readonly Page[]) => pages.flatMap(({ rows }) => rows);
const someIds = fc
  .uniqueArray(fc.integer({ min: 1, max: 1_000 }), { maxLength: 20 })
  .map((ids) => ids.sort((a, b) => a - b));

describe('a page', () => {
  it('has no links if it is the only one', () => {
    expect(readPage([1, 2, 3], 1)).not.toHaveProperty('next');
    expect(readPage([1, 2, 3], 1)).not.toHaveProperty('previous');
    expect(readPage([], 1)).toEqual({ page: 1, rows: [], total: 0 });
  });

  it('links to the next page after its last row, with the values of the walk', () => {
    expect(readPage([1, 2, 3, 4], 1).next).toEqual({
      page: 2,
      cursor: { direction: 'after', boundary: 3, syncTimestamp, total: 4 },
    });
  });

  it('links to the previous page before its first row', () => {
    expect(readPage([1, 2, 3, 4], 2).previous).toEqual({
      page: 1,
      cursor: { direction: 'before', boundary: 4, syncTimestamp, total: 4 },
    });
  });

  it('after the end has no rows, the true total and the last page before it', () => {
    const past = readPage([1, 2, 3, 4], 9);
    expect(past).toMatchObject({ rows: [], total: 4, previous: { page: 2 } });
    expect(past).not.toHaveProperty('next');
    expect(rowsOf(walk(past, 'previous', () => [1, 2, 3, 4])).sort()).toEqual([1, 2, 3, 4]);
  });

  it('after the end of an empty list has no links', () => {
    expect(readPage([], 2)).toEqual({ page: 2, rows: [], total: 0 });
  });
});

describe('a walk by links', () => {
  it('visits each row once, forward and back', () => {
    fc.assert(
      fc.property(someIds, (ids) => {
        const forward = walk(readPage(ids, 1), 'next', () => ids);
        expect(rowsOf(forward)).toEqual(ids);
        const back = walk(forward.at(-1) as Page, 'previous', () => ids);
        expect(rowsOf(back.reverse())).toEqual(ids);
        expect(back.map(({ page }) => page)).toEqual(forward.map(({ page }) => page));
      }),
    );
  });

  it('has no link beyond its ends', () => {
    fc.assert(
      fc.property(someIds, (ids) => {
        const forward = walk(readPage(ids, 1), 'next', () => ids);
        expect(forward[0]).not.toHaveProperty('previous');
        expect(walk(forward.at(-1) as Page, 'previous', () => ids).at(-1)).not.toHaveProperty(
          'previous',
        );
      }),
    );
  });

  it('can change direction at any page', () => {
    fc.assert(
      fc.property(someIds, (ids) => {
        for (const { rows, next } of walk(readPage(ids, 1), 'next', () => ids)) {
          if (!next) continue;
          const { previous } = readPage(ids, next.page, next.cursor);
          expect(previous && readPage(ids, previous.page, previous.cursor).rows).toEqual(rows);
        }
      }),
    );
  });

  it('visits every permanent row while other rows are added and removed', () => {
    const change = fc.record({ add: fc.integer({ min: 1, max: 2_000 }), remove: fc.nat(19) });
    fc.assert(
      fc.property(
        someIds,
        fc.array(change, { maxLength: 30 }),
        fc.boolean(),
        (ids, changes, since) => {
          let there = ids;
          const left = [...changes];
          const kept = new Set(ids);
          const step = () => {
            const { add, remove } = left.shift() ?? {};
            const removed = there[remove ?? -1];
            if (removed !== undefined) kept.delete(removed);
            there = there.filter((id) => id !== removed);
            if (add !== undefined && !there.includes(add))
              there = [...there, add].sort((a, b) => a - b);
            return there;
          };
          const seen = rowsOf(walk(readPage(ids, 1, undefined, since), 'next', step));
          expect([...kept].filter((id) => !seen.includes(id))).toEqual([]);
          expect(new Set(seen).size).toBe(seen.length);
        },
      ),
    );
  });

  it('with `since` stays within the initial range of ids', () => {
    const { next } = readPage([2, 4, 6, 8], 1, undefined, true);
    const later = [1, 2, 4, 6, 7, 8, 9];
    const second = readPage(later, 2, next?.cursor);
    expect(second).toMatchObject({
      rows: [7, 8],
      previous: { cursor: { range: { first: 2, last: 8 } } },
    });
    expect(second).not.toHaveProperty('next');
    expect(readPage(later, 1, second.previous?.cursor).rows).toEqual([2, 4, 6]);
  });

  it('keeps the total and Sync-Timestamp of its first page', () => {
    const { next } = readPage([1, 2, 3, 4], 1);
    const second = readPage([1, 2, 3, 4, 5, 6, 7, 8], 2, next?.cursor);
    expect(second.total).toBe(4);
    expect(second.next?.cursor).toMatchObject({ total: 4, syncTimestamp });
  });
});
