import { parseTime, toStamp } from '#contracts';
import type { Cursor, Cursors } from './cursor.js';

const defaultPerPage = 50;

/** The query of a list, without invalid parameters (docs/reference/interface.md, "Lists"). */
export interface ListQuery {
  since: string | undefined;
  page: number;
  perPage: number;
  cursor: Cursor | undefined;
  /** Names of the parameters that were ignored or clamped, in the order of the interface. */
  ignored: string[];
}

export const listParameters = ['since', 'page', 'per_page', 'cursor'] as const;

/** Parses the query of a list (docs/reference/interface.md, "Invalid parameters"). */
export function readListQuery(
  parameters: Pick<URLSearchParams, 'getAll'>,
  scope: { userId: string; list: string; maxPerPage: number },
  cursors: Cursors,
): ListQuery {
  const ignored: string[] = [];
  const read = <Value>(
    name: string,
    parse: (text: string) => Value | undefined,
  ): Value | undefined => {
    const values = parameters.getAll(name);
    if (values.length === 0) return undefined;
    const value = values.length === 1 ? parse(values[0] as string) : undefined;
    if (value === undefined) ignored.push(name);
    return value;
  };
  const since = read('since', (text) => {
    const time = parseTime(text);
    return time && toStamp(time);
  });
  const page = read('page', positiveInteger) ?? 1;
  const requested = read('per_page', positiveNumber) ?? Math.min(defaultPerPage, scope.maxPerPage);
  if (requested > scope.maxPerPage) ignored.push('per_page');
  const cursor = read('cursor', (text) =>
    cursors.decode(text, { userId: scope.userId, list: scope.list, since }),
  );
  return { since, page, perPage: Math.min(requested, scope.maxPerPage), cursor, ignored };
}

function positiveInteger(text: string): number | undefined {
  const value = /^\d+$/.test(text) ? Number(text) : 0;
  return value >= 1 && Number.isSafeInteger(value) ? value : undefined;
}

/** Returns a positive integer, possibly above the safe integers, because the caller clamps it. */
function positiveNumber(text: string): number | undefined {
  const value = /^\d+$/.test(text) ? Number(text) : 0;
  return value >= 1 ? value : undefined;
}
