import type { IdRange } from '#contracts';
import type { Cursor } from './cursor.js';

/** What determines the neighbours of a page. */
export interface PageFacts {
  page: number;
  perPage: number;
  cursor: Cursor | undefined;
  total: number;
  /** Of a walk with `since` only. */
  range: IdRange | undefined;
  syncTimestamp: string;
  firstId: number | undefined;
  lastId: number | undefined;
  /** Whether rows follow in the direction of the walk. */
  more: boolean;
}

/** A neighbour of a page. Its cursor says where it starts; its number is a label only. */
export interface Neighbour {
  page: number;
  cursor: Cursor;
}

/** A boundary after every row. */
const end = Number.MAX_SAFE_INTEGER;

/**
 * The neighbours of a page (docs/reference/interface.md, "Paging"). A page that was reached by a link has its origin on the other
 * side; a page past the end has the last one before it.
 */
export function neighbours(facts: PageFacts): { next?: Neighbour; previous?: Neighbour } {
  const { page, cursor, total, range, syncTimestamp, more } = facts;
  const walk = { syncTimestamp, total, ...(range && { range }) };
  const firstId = facts.firstId ?? (cursor ? cursor.boundary + (cursor.direction === 'after' ? 1 : 0) : end);
  const lastId = facts.lastId ?? (cursor ? Math.max(cursor.boundary - 1, 0) : 0);
  const after = { page: page + 1, cursor: { direction: 'after' as const, boundary: lastId, ...walk } };
  const before = {
    page: facts.firstId === undefined && !cursor ? Math.ceil(total / facts.perPage) : Math.max(page - 1, 1),
    cursor: { direction: 'before' as const, boundary: firstId, ...walk },
  };
  if (cursor?.direction === 'before') return { next: after, ...(more && { previous: before }) };
  const hasPrevious = cursor !== undefined || (page > 1 && total > 0);
  return { ...(more && { next: after }), ...(hasPrevious && { previous: before }) };
}
