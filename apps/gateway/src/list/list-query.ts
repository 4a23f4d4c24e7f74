import { guidSchema, parseTime, toStamp } from '#contracts';
import type { Cursor, Cursors, CursorScope } from './cursor.js';

/** Rows on a page if the request has no `per_page`. */
const defaultPerPage = 50;

/** The valid parameters of a list request (docs/reference/interface.md, "Lists"). */
export interface ListQuery {
  since: string | undefined;
  podcastGuid: string | undefined;
  page: number;
  perPage: number;
  cursor: Cursor | undefined;
  /** Scope of the cursors in this list's links. */
  scope: CursorScope;
  /** Names of the parameters that were ignored or clamped, as in `Ignored-Parameters`. */
  ignored: string[];
}

export const listParameters = ['since', 'page', 'per_page', 'cursor'] as const;
export const episodeListParameters = ['podcast_guid', ...listParameters] as const;

/**
 * Parses the query of a list (docs/reference/interface.md, "Invalid parameters").
 *
 * @param parameters all known parameters of the request.
 */
export function readListQuery(
  parameters: Pick<URLSearchParams, 'getAll'>,
  { userId, list, maxPerPage }: { userId: string; list: string; maxPerPage: number },
  cursors: Cursors,
): ListQuery {
  const ignored: string[] = [];
  const readParameter = <Value>(
    name: string,
    parse: (text: string) => Value | undefined,
  ): Value | undefined => {
    const values = parameters.getAll(name);
    if (values.length === 0) return undefined;
    const value = values.length === 1 ? parse(values[0] as string) : undefined;
    if (value === undefined) ignored.push(name);
    return value;
  };
  const since = readParameter('since', (text) => {
    const time = parseTime(text);
    return time && toStamp(time);
  });
  const podcastGuid = readParameter('podcast_guid', (text) => guidSchema.safeParse(text).data);
  const page = readParameter('page', parsePositiveInteger) ?? 1;
  const requestedPerPage =
    readParameter('per_page', parsePositiveNumber) ?? Math.min(defaultPerPage, maxPerPage);
  if (requestedPerPage > maxPerPage) ignored.push('per_page');
  const scope = { userId, list: [list, podcastGuid].filter(Boolean).join(' '), since };
  const cursor = readParameter('cursor', (text) => cursors.decode(text, scope));
  const perPage = Math.min(requestedPerPage, maxPerPage);
  return { since, podcastGuid, page, perPage, cursor, scope, ignored };
}

/** Parses a positive safe integer; `undefined` for any other text. */
function parsePositiveInteger(text: string): number | undefined {
  const value = /^\d+$/.test(text) ? Number(text) : 0;
  return value >= 1 && Number.isSafeInteger(value) ? value : undefined;
}

/** Parses a positive integer of any size, because the caller clamps `per_page`. */
function parsePositiveNumber(text: string): number | undefined {
  const value = /^\d+$/.test(text) ? Number(text) : 0;
  return value >= 1 ? value : undefined;
}
