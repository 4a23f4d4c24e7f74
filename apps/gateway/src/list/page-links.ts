import type { IdRange } from '#contracts';
import type { Cursor } from './cursor.js';

/** The page that an answer contains, from which the links to other pages are computed. */
export interface CurrentPage {
  page: number;
  perPage: number;
  cursor: Cursor | undefined;
  total: number;
  /** Row ids that the walk covers; only in a walk with `since`. */
  range: IdRange | undefined;
  syncTimestamp: string;
  /** Ids of the page's first and last row; `undefined` for an empty page. */
  firstId: number | undefined;
  lastId: number | undefined;
  /** True if rows follow in the direction of the walk. */
  more: boolean;
}

/** The next or previous page. Only the cursor selects its rows; the number is informative. */
export interface LinkedPage {
  page: number;
  cursor: Cursor;
}

/** A number that is greater than every row id. */
const maxId = Number.MAX_SAFE_INTEGER;

/**
 * Returns the next and the previous page of a page (docs/reference/interface.md, "Paging"). A page
 * that was reached by a link always links back. For a page number past the end, the previous page
 * is the last page.
 */
export function adjacentPagesOf(current: CurrentPage): {
  next?: LinkedPage;
  previous?: LinkedPage;
} {
  const { page, cursor, total, range, syncTimestamp, more } = current;
  const walkValues = { syncTimestamp, total, ...(range && { range }) };
  const firstId =
    current.firstId ?? (cursor ? cursor.boundary + (cursor.direction === 'after' ? 1 : 0) : maxId);
  const lastId = current.lastId ?? (cursor ? Math.max(cursor.boundary - 1, 0) : 0);
  const nextPage = {
    page: page + 1,
    cursor: { direction: 'after' as const, boundary: lastId, ...walkValues },
  };
  const previousPage = {
    page:
      current.firstId === undefined && !cursor
        ? Math.ceil(total / current.perPage)
        : Math.max(page - 1, 1),
    cursor: { direction: 'before' as const, boundary: firstId, ...walkValues },
  };
  if (cursor?.direction === 'before')
    return { next: nextPage, ...(more && { previous: previousPage }) };
  const hasPrevious = cursor !== undefined || (page > 1 && total > 0);
  return { ...(more && { next: nextPage }), ...(hasPrevious && { previous: previousPage }) };
}
