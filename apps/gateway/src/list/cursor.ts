import { hash } from 'node:crypto';
import { z } from 'zod';
import type { IdRange } from '#contracts';

/** End of the year 9999, the last stamp, in milliseconds. */
const lastStamp = 253_402_300_799_999;

const cursorSchema = z.tuple([
  z.enum(['after', 'before']),
  z.int().min(0),
  z.int().min(0).max(lastStamp),
  z.int().min(0),
  z.int().optional(),
  z.int().optional(),
]);

/** Start of a page that was reached by a link, with facts of the walk's first page. */
export interface Cursor {
  direction: 'after' | 'before';
  /** The row id after or before which the page starts. */
  boundary: number;
  /** The `Sync-Timestamp` of the walk's first page. */
  syncTimestamp: string;
  /** The total of the first page. */
  total: number;
  /** Only of a walk with `since`; see {@link IdRange}. */
  range?: IdRange | undefined;
}

/** Scope in which a cursor is valid: one user, one list, one `since`. */
export interface CursorScope {
  userId: string;
  list: string;
  since: string | undefined;
}

/**
 * Encodes a cursor for a link. Its check value binds it to its scope; altered cursors are ignored.
 * It is no secret: every statement is bound to the user, so a forged one reveals nothing.
 */
export function encodeCursor(cursor: Cursor, scope: CursorScope): string {
  const { direction, boundary, syncTimestamp, total, range } = cursor;
  const parts = [
    direction,
    boundary,
    Date.parse(syncTimestamp),
    total,
    ...(range ? [range.first, range.last] : []),
  ];
  const payload = Buffer.from(JSON.stringify(parts)).toString('base64url');
  return `${payload}.${check(payload, scope)}`;
}

/** Decodes a cursor; `undefined` if it is invalid or of another scope. */
export function decodeCursor(text: string, scope: CursorScope): Cursor | undefined {
  const [payload = '', checkValue] = text.split('.', 2);
  if (check(payload, scope) !== checkValue || `${payload}.${checkValue}` !== text) return undefined;
  const parsed = cursorSchema.safeParse(json(Buffer.from(payload, 'base64url').toString('utf8')));
  if (!parsed.success) return undefined;
  const [direction, boundary, syncTimestamp, total, first, last] = parsed.data;
  const range = first !== undefined && last !== undefined ? { first, last } : undefined;
  return {
    direction,
    boundary,
    syncTimestamp: new Date(syncTimestamp).toISOString(),
    total,
    ...(range && { range }),
  };
}

function json(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function check(payload: string, { userId, list, since }: CursorScope): string {
  return hash('sha256', JSON.stringify([payload, userId, list, since ?? '']), 'base64url').slice(
    0,
    22,
  );
}
