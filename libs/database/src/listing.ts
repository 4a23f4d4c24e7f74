import { defaultAnswerBytes, JsonText, type ListRequest } from '#contracts';
import type { Database } from './database.js';
import { clockOfUser, unlessRefused } from './refused-users.js';
import { statement, type Statement } from './statement.js';

/**
 * The statements of one list. Parameters of all: $1 user, $2 since, $3 maximum number of rows; the
 * last one is the value of the list's filter, if it has one.
 */
export interface Listing {
  /**
   * A page in the order of ids, after $4, a boundary id. $5 rows to skip, $6 total if known, else
   * null.
   */
  readonly forward: Statement;
  /** Like {@link forward}, before the boundary id and in descending order. */
  readonly backward: Statement;
  /** The first page of a list with `since`. $4 rows to skip. */
  readonly changed: Statement;
  /** A page after the first one of {@link changed}. $4 boundary id, $5 and $6 the range of ids. */
  readonly changedForward: Statement;
  readonly changedBackward: Statement;
}

/** The SQL parts of a list's statements. All parts can use $1, $2 and the filter's parameter. */
interface ListParts {
  /** Alias in `matching` of the table that has one row per item. */
  readonly row: string;
  /** Columns of an item, including the row's `id`. */
  readonly columns: string;
  /** The tables that `where` needs, as the SQL after FROM. */
  readonly matching: string;
  /** Further tables for `columns`, as SQL after FROM, for each row of a page. Default: none. */
  readonly joined?: string;
  /** Additional condition on the changed rows. Default: none. */
  readonly where?: string;
  /** SQL that reads a stored number of the user's rows. Default: the rows are counted. */
  readonly total?: string;
}

/** Reads the clock of a user and whether the user is refused. $1 user. */
export const selectClock = statement(
  'sync.select_clock',
  `SELECT clock, refused FROM ${clockOfUser} c`,
);

/**
 * Creates the statements of a list (ADR 8). Invariants:
 * - Each statement reads clock, total and rows from one snapshot.
 * - A client that follows the links from the first to the last page misses no row that exists all
 *   that time, even while others write. Pages are in the order of ids, which never change, and each
 *   starts at the boundary id of the page before. `page-links.spec.ts` tests the links over a
 *   simulated list, and the conformance cases `walk-while-*` over a real server.
 *
 * @param partsOf for a list with a filter: returns the parts for the SQL parameter of the filter,
 *   such as `$5`.
 */
export function listing(
  name: string,
  partsOf: ListParts | ((parameter: string) => ListParts),
): Listing {
  const sqlWithFilter = (parameter: string) =>
    listSql(typeof partsOf === 'function' ? partsOf(parameter) : partsOf);
  const { page, changedPage } = sqlWithFilter('$7');
  return {
    forward: statement(`${name}.forward`, page('>', 'ASC')),
    backward: statement(`${name}.backward`, page('<', 'DESC')),
    changed: statement(`${name}.changed`, sqlWithFilter('$5').changed),
    changedForward: statement(`${name}.changed_forward`, changedPage('>', 'ASC')),
    changedBackward: statement(`${name}.changed_backward`, changedPage('<', 'DESC')),
  };
}

function listSql(parts: ListParts) {
  const { row, columns, matching, joined, where = 'true' } = parts;
  const matchBy = (changed: string) => `${row}.user_id = $1 AND ${changed} > $2 AND ${where}`;
  const match = matchBy(`${row}.changed`);
  const { total = `SELECT count(*) FROM ${matching} WHERE ${match}` } = parts;
  // OFFSET 0 forces one lookup per row. Postgres, which cannot estimate the size of a page, could
  // otherwise choose a join.
  const each = (rows: string, alias: string, found: string) =>
    `SELECT found.* FROM (${rows}) ${alias} CROSS JOIN LATERAL (${found} OFFSET 0) found`;
  // The SQL reads the rows of a page first, and then looks up the joined tables for each row.
  const items = (rest: string) =>
    joined === undefined
      ? `SELECT ${columns} FROM ${matching} ${rest}`
      : each(`SELECT ${row}.* FROM ${matching} ${rest}`, row, `SELECT ${columns} FROM ${joined}`);
  // greatest(changed) equals `changed`, but no index has it, so Postgres scans ids in their order.
  // With the index on `changed`, Postgres could read and sort all matches again for every page.
  const walkCondition = matchBy(`greatest(${row}.changed)`);
  const page = (beyond: string, direction: string) => `
    WITH page AS (${items(`
      WHERE ${walkCondition} AND ${row}.id ${beyond} $4
      ORDER BY ${row}.id ${direction} LIMIT $3 OFFSET $5`)})
    SELECT head.*, page.*
    FROM (
      SELECT clock, refused, coalesce($6::bigint, (${total}), 0) AS total FROM ${clockOfUser} c
    ) head
    LEFT JOIN page ON true
    ORDER BY page.id ${direction}`;
  // The first page uses the index on `changed`: its cost depends on the number of matches, not of
  // the user's rows. If the clock is not later than $2, there is no match, and it reads no rows.
  const ids = 'SELECT id FROM matches ORDER BY id LIMIT $3 OFFSET $4';
  const changed = `
    WITH head AS MATERIALIZED (
      SELECT clock, refused FROM ${clockOfUser} c
    ), matches AS MATERIALIZED (
      SELECT ${row}.id FROM ${matching} WHERE (SELECT clock FROM head) > $2 AND ${match}
    ), page AS (${each(ids, 'match', items(`WHERE ${row}.user_id = $1 AND ${row}.id = match.id`))})
    SELECT head.*, matched.*, page.*
    FROM head
    CROSS JOIN (
      SELECT count(*) AS total, min(id) AS "firstMatch", max(id) AS "lastMatch" FROM matches
    ) matched
    LEFT JOIN page ON true
    ORDER BY page.id`;
  const changedPage = (beyond: string, direction: string) => `
    WITH page AS (${items(`
      WHERE ${walkCondition} AND ${row}.id ${beyond} $4 AND ${row}.id BETWEEN $5 AND $6
      ORDER BY ${row}.id ${direction} LIMIT $3`)})
    SELECT head.*, page.* FROM ${clockOfUser} head
    LEFT JOIN page ON true ORDER BY page.id ${direction}`;
  return { page, changed, changedPage };
}

const largestId = Number.MAX_SAFE_INTEGER;

type PageHead = {
  clock: string;
  refused: number | null;
  total?: number;
  firstMatch?: number;
  lastMatch?: number;
  id: number | null;
};

/** Returns the statement for a page, and its values. */
function selectPage(list: Listing, request: ListRequest): [Statement, unknown[]] {
  const { userId, since, perPage, cursor, total, span: range } = request;
  const values = [userId, since ?? '-infinity', perPage + 1];
  const backward = cursor.from === 'before';
  if (cursor.from === 'page') {
    const skip = Math.min((cursor.page - 1) * perPage, largestId);
    return since === undefined
      ? [list.forward, [...values, 0, skip, null]]
      : [list.changed, [...values, skip]];
  }
  if (since !== undefined && range)
    return [
      backward ? list.changedBackward : list.changedForward,
      [...values, cursor.id, range.first, range.last],
    ];
  return [backward ? list.backward : list.forward, [...values, cursor.id, 0, total ?? null]];
}

/** Returns the first items of a page as JSON: as many as fit into `maxBytes`, but at least one. */
function takeFitting<Row, Item>(
  rows: readonly Row[],
  toItem: (row: Row) => Item,
  maxBytes: number,
): string[] {
  const items: string[] = [];
  let bytes = '[]'.length;
  for (const row of rows) {
    const item = JSON.stringify(toItem(row));
    bytes += Buffer.byteLength(item) + (items.length > 0 ? 1 : 0);
    if (bytes > maxBytes && items.length > 0) break;
    items.push(item);
  }
  return items;
}

/**
 * Reads one page.
 * - If the items exceed `maxBytes`, the page has fewer items, at least one, and `more` is true.
 * - No row is newer than the clock. So only the clock is read if it equals `knownClock` (the result
 *   is `unchanged`), or is not later than the `since` of a first page (the page is empty).
 *
 * @param toItem converts a row's columns to an item of the answer.
 * @param filter the value of the list's filter, if it has one.
 * @throws Failure `unauthorized` for a refused user.
 */
export async function listPage<Row extends object, Item>(
  database: Database,
  list: Listing,
  request: ListRequest,
  toItem: (row: Row) => Item,
  ...filter: readonly string[]
) {
  const { userId, perPage, cursor, knownClock } = request;
  const since = cursor.from === 'page' ? request.since : undefined;
  if (knownClock !== undefined || since !== undefined) {
    const [read] = await database.read<Pick<PageHead, 'clock' | 'refused'>>(selectClock, [userId]);
    const { clock } = unlessRefused(read);
    if (clock === knownClock) return { unchanged: true as const, clock };
    // Stamps are ISO texts of the same format, so the greater text is the later stamp.
    if (since !== undefined && clock <= since)
      return {
        unchanged: false as const,
        clock,
        total: 0,
        items: JsonText.of<Item[]>([]),
        more: false,
      };
  }
  const [query, values] = selectPage(list, request);
  const rows = await database.read<Row & PageHead>(query, [...values, ...filter]);
  const head = unlessRefused<PageHead>(rows[0]);
  const whole = head.id === null ? [] : rows.slice(0, perPage);
  const items = takeFitting<Row, Item>(whole, toItem, request.maxBytes ?? defaultAnswerBytes);
  const page = whole.slice(0, items.length);
  if (cursor.from === 'before') for (const part of [page, items]) part.reverse();
  return {
    unchanged: false as const,
    clock: head.clock,
    total: head.total ?? request.total ?? 0,
    ...(head.firstMatch &&
      head.lastMatch && { span: { first: head.firstMatch, last: head.lastMatch } }),
    items: JsonText.from<Item[]>(`[${items.join(',')}]`),
    ...(page.length > 0 && {
      firstId: (page[0] as PageHead).id as number,
      lastId: (page.at(-1) as PageHead).id as number,
    }),
    more: rows.length > page.length && head.id !== null,
  };
}
