import { defaultAnswerBytes, JsonText, type ListRequest } from '#contracts';
import type { Database } from './database.js';
import { clockOfUser, unlessRefused } from './refused-users.js';
import { statement, type Statement } from './statement.js';

/**
 * The statements of one list. Parameters of all: $1 user, $2 `since` (`-infinity` without one), $3
 * maximum number of rows. A list with a filter has the value of the filter as last parameter.
 */
export interface Listing {
  /**
   * Reads the rows with ids above $4 in ascending order. $5 number of rows to skip, $6 total number
   * of rows, or null to count them.
   */
  readonly forward: Statement;
  /** Like {@link forward}, for ids below $4 and in descending order. */
  readonly backward: Statement;
  /** Reads a page of a list with `since` by its number. $4 number of rows to skip. */
  readonly changed: Statement;
  /**
   * Reads a page of a list with `since`: ids above $4 in ascending order. $5 lowest and $6 highest
   * id of the matches, as {@link changed} has read them.
   */
  readonly changedForward: Statement;
  /** Like {@link changedForward}, for ids below $4 and in descending order. */
  readonly changedBackward: Statement;
}

/** The SQL parts of a list's statements. All parts can use $1, $2 and the filter's parameter. */
interface ListParts {
  /** Alias in `matching` of the table that has one row per item. */
  readonly row: string;
  /** Columns of an item, including the row's `id`. */
  readonly columns: string;
  /** SQL after FROM of the tables with the matching rows, which `where` can use. */
  readonly matching: string;
  /** SQL after FROM that looks up `columns` for one row of a page. Default: `matching` has them. */
  readonly joined?: string;
  /** Additional condition on the changed rows. Default: none. */
  readonly where?: string;
  /** SQL that reads a stored number of the user's rows. Default: the statement counts the rows. */
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
 *   that time, even while others write. The rows are in the order of ids, which never change, and
 *   each page starts at the end of an adjacent page. `page-links.spec.ts` tests the links over a
 *   simulated list, and the conformance cases `walk-while-*` over a real server.
 *
 * @param parts the SQL of the list. For a list with a filter: a function that returns the SQL for
 *   the parameter of the filter, such as `$5`.
 */
export function listing(
  name: string,
  parts: ListParts | ((filterParameter: string) => ListParts),
): Listing {
  const buildSqlWithFilter = (filterParameter: string) =>
    buildListSql(typeof parts === 'function' ? parts(filterParameter) : parts);
  const { page, changedPage } = buildSqlWithFilter('$7');
  return {
    forward: statement(`${name}.forward`, page('>', 'ASC')),
    backward: statement(`${name}.backward`, page('<', 'DESC')),
    changed: statement(`${name}.changed`, buildSqlWithFilter('$5').changed),
    changedForward: statement(`${name}.changed_forward`, changedPage('>', 'ASC')),
    changedBackward: statement(`${name}.changed_backward`, changedPage('<', 'DESC')),
  };
}

function buildListSql(parts: ListParts) {
  const { row, columns, matching, joined, where = 'true' } = parts;
  const buildCondition = (changed: string) =>
    `${row}.user_id = $1 AND ${changed} > $2 AND ${where}`;
  const matchCondition = buildCondition(`${row}.changed`);
  const { total = `SELECT count(*) FROM ${matching} WHERE ${matchCondition}` } = parts;
  // OFFSET 0 forces one lookup per row. Postgres, which cannot estimate the size of a page, could
  // otherwise choose a join.
  const lookUpEach = (rows: string, alias: string, lookup: string) =>
    `SELECT found.* FROM (${rows}) ${alias} CROSS JOIN LATERAL (${lookup} OFFSET 0) found`;
  // The SQL reads the rows of a page first, and then looks up the joined tables for each row.
  const selectItems = (clauses: string) =>
    joined === undefined
      ? `SELECT ${columns} FROM ${matching} ${clauses}`
      : lookUpEach(
          `SELECT ${row}.* FROM ${matching} ${clauses}`,
          row,
          `SELECT ${columns} FROM ${joined}`,
        );
  // greatest(changed) equals `changed`, but no index has it, so Postgres scans ids in their order.
  // With the index on `changed`, Postgres could read and sort all matches again for every page.
  const walkCondition = buildCondition(`greatest(${row}.changed)`);
  const page = (beyond: string, direction: string) => `
    WITH page AS (${selectItems(`
      WHERE ${walkCondition} AND ${row}.id ${beyond} $4
      ORDER BY ${row}.id ${direction} LIMIT $3 OFFSET $5`)})
    SELECT head.*, page.*
    FROM (
      SELECT clock, refused, coalesce($6::bigint, (${total}), 0) AS total FROM ${clockOfUser} c
    ) head
    LEFT JOIN page ON true
    ORDER BY page.id ${direction}`;
  // This page is read by the index on `changed`. So its cost depends on the number of matches, not
  // of the user's rows. If the clock is not later than $2, nothing matches, and no rows are read.
  const selectIds = 'SELECT id FROM matches ORDER BY id LIMIT $3 OFFSET $4';
  const selectMatch = selectItems(`WHERE ${row}.user_id = $1 AND ${row}.id = match.id`);
  const changed = `
    WITH head AS MATERIALIZED (
      SELECT clock, refused FROM ${clockOfUser} c
    ), matches AS MATERIALIZED (
      SELECT ${row}.id FROM ${matching} WHERE (SELECT clock FROM head) > $2 AND ${matchCondition}
    ), page AS (${lookUpEach(selectIds, 'match', selectMatch)})
    SELECT head.*, matched.*, page.*
    FROM head
    CROSS JOIN (
      SELECT count(*) AS total, min(id) AS "firstMatch", max(id) AS "lastMatch" FROM matches
    ) matched
    LEFT JOIN page ON true
    ORDER BY page.id`;
  const changedPage = (beyond: string, direction: string) => `
    WITH page AS (${selectItems(`
      WHERE ${walkCondition} AND ${row}.id ${beyond} $4 AND ${row}.id BETWEEN $5 AND $6
      ORDER BY ${row}.id ${direction} LIMIT $3`)})
    SELECT head.*, page.* FROM ${clockOfUser} head
    LEFT JOIN page ON true ORDER BY page.id ${direction}`;
  return { page, changed, changedPage };
}

/** Upper bound of the number of skipped rows, because page numbers have no limit. */
const maxSkippedRows = Number.MAX_SAFE_INTEGER;

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
  const isBackward = cursor.from === 'before';
  if (cursor.from === 'page') {
    const skippedRows = Math.min((cursor.page - 1) * perPage, maxSkippedRows);
    return since === undefined
      ? [list.forward, [...values, 0, skippedRows, null]]
      : [list.changed, [...values, skippedRows]];
  }
  if (since !== undefined && range)
    return [
      isBackward ? list.changedBackward : list.changedForward,
      [...values, cursor.id, range.first, range.last],
    ];
  return [isBackward ? list.backward : list.forward, [...values, cursor.id, 0, total ?? null]];
}

/** Returns the first items of a page as JSON: as many as fit into `maxBytes`, but at least one. */
function serializeFittingItems<Row, Item>(
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
 * - If the clock equals `knownClock`, the result is `unchanged`. If the clock is not later than the
 *   `since` of a page by number, the page is empty. In both cases only the clock is read, because
 *   no row is newer than the clock.
 *
 * @param toItem converts a row's columns to an item of the answer.
 * @param filter the value of the filter, for a list with a filter.
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
    const [clockRow] = await database.read<Pick<PageHead, 'clock' | 'refused'>>(selectClock, [
      userId,
    ]);
    const { clock } = unlessRefused(clockRow);
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
  const pageRows = head.id === null ? [] : rows.slice(0, perPage);
  const items = serializeFittingItems<Row, Item>(
    pageRows,
    toItem,
    request.maxBytes ?? defaultAnswerBytes,
  );
  const listedRows = pageRows.slice(0, items.length);
  if (cursor.from === 'before') for (const array of [listedRows, items]) array.reverse();
  return {
    unchanged: false as const,
    clock: head.clock,
    total: head.total ?? request.total ?? 0,
    ...(head.firstMatch &&
      head.lastMatch && { span: { first: head.firstMatch, last: head.lastMatch } }),
    items: JsonText.from<Item[]>(`[${items.join(',')}]`),
    ...(listedRows.length > 0 && {
      firstId: (listedRows[0] as PageHead).id as number,
      lastId: (listedRows.at(-1) as PageHead).id as number,
    }),
    more: rows.length > listedRows.length && head.id !== null,
  };
}
