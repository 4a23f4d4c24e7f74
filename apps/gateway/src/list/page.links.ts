import type { IdRange } from '#contracts';
import type { Cursor } from './cursor.js';

/** The values from which the links of a page are computed. */
export interface PageFacts {
  page: number;
  perPage: number;
  cursor: Cursor | undefined;
  total: number;
  /** Only in a walk with `since`. */
  range: IdRange | undefined;
  syncTimestamp: string;
  /** Ids of the page's first and last row; `undefined` for an empty page. */
  firstId: number | undefined;
  lastId: number | undefined;
  /** True if rows follow in the direction of the walk. */
  more: boolean;
}

/** The next or previous page. The cursor defines its start; the number does not select rows. */
export interface Neighbour {
  page: number;
  cursor: Cursor;
}

/** A row id after every row. */
const end = Number.MAX_SAFE_INTEGER;

/**
 * Returns the next and the previous page of a page (docs/reference/interface.md, "Paging"). A page
 * that was reached by a link always links back. For a page number past the end, the previous page
 * is the last page.
 */
export function neighbours(facts: PageFacts): { next?: Neighbour; previous?: Neighbour } {
  const { page, cursor, total, range, syncTimestamp, more } = facts;
  const walk = { syncTimestamp, total, ...(range && { range }) };
  const firstId =
    facts.firstId ?? (cursor ? cursor.boundary + (cursor.direction === 'after' ? 1 : 0) : end);
  const lastId = facts.lastId ?? (cursor ? Math.max(cursor.boundary - 1, 0) : 0);
  const after = {
    page: page + 1,
    cursor: { direction: 'after' as const, boundary: lastId, ...walk },
  };
  const before = {
    page:
      facts.firstId === undefined && !cursor
        ? Math.ceil(total / facts.perPage)
        : Math.max(page - 1, 1),
    cursor: { direction: 'before' as const, boundary: firstId, ...walk },
  };
  if (cursor?.direction === 'before') return { next: after, ...(more && { previous: before }) };
  const hasPrevious = cursor !== undefined || (page > 1 && total > 0);
  return { ...(more && { next: after }), ...(hasPrevious && { previous: before }) };
}
