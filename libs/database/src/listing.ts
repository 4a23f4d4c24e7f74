import type { ListRequest } from '#contracts';
import type { Database } from './database.js';
import { statement, type Statement } from './statement.js';

/**
 * The statements of one list. Parameters of all: $1 user, $2 since. `from`, `where` and `columns` may use these two;
 * `columns` must include the row id as `id`.
 */
export interface Listing {
  readonly forward: Statement;
  readonly backward: Statement;
}

const clockOf = '(SELECT c.stamp FROM sync.user_clock c WHERE c.user_id = $1)';
export const readClock = statement('sync.read_clock', `SELECT coalesce(${clockOf}, 'epoch') AS clock`);

/** $3 boundary id, $4 rows at most, $5 rows to skip, $6 the total if it is known. One statement: one snapshot. */
export function listing(name: string, parts: { id: string; columns: string; from: string; where: string }): Listing {
  const text = (beyond: string, direction: string) => `
    WITH page AS (
      SELECT ${parts.columns} FROM ${parts.from}
      WHERE ${parts.where} AND ${parts.id} ${beyond} $3
      ORDER BY ${parts.id} ${direction} LIMIT $4 OFFSET $5
    )
    SELECT head.clock, head.total, page.*
    FROM (
      SELECT coalesce(${clockOf}, 'epoch') AS clock,
        coalesce($6::bigint, (SELECT count(*) FROM ${parts.from} WHERE ${parts.where})) AS total
    ) head
    LEFT JOIN page ON true
    ORDER BY page.id ${direction}`;
  return {
    forward: statement(`${name}.forward`, text('>', 'ASC')),
    backward: statement(`${name}.backward`, text('<', 'DESC')),
  };
}

/** Beyond every row id. */
const largestId = Number.MAX_SAFE_INTEGER;

type Head = { clock: string; total: number; id: number | null };

/**
 * Reads one page. A caller that knows the clock is answered by one read of it while it stands still.
 *
 * @param toItem makes an item of a row's columns.
 */
export async function listPage<Row extends object, Item>(
  database: Database,
  list: Listing,
  request: ListRequest,
  toItem: (row: Row) => Item,
) {
  const { userId, since, perPage, position, total, knownClock } = request;
  if (knownClock !== undefined) {
    const [head] = await database.read<{ clock: string }>(readClock, [userId]);
    if (head?.clock === knownClock) return { unchanged: true as const, clock: knownClock };
  }
  const backward = position.from === 'before';
  const boundary = position.from === 'page' ? 0 : position.id;
  const skip = position.from === 'page' ? Math.min((position.page - 1) * perPage, largestId) : 0;
  const values = [userId, since ?? '-infinity', boundary, perPage + 1, skip, total ?? null];
  const rows = await database.read<Row & Head>(backward ? list.backward : list.forward, values);
  const head = rows[0] as Head;
  const page = head.id === null ? [] : rows.slice(0, perPage);
  if (backward) page.reverse();
  return {
    unchanged: false as const,
    clock: head.clock,
    total: head.total,
    items: page.map(toItem),
    ...(page.length > 0 && { firstId: (page[0] as Head).id as number, lastId: (page.at(-1) as Head).id as number }),
    more: rows.length > perPage,
  };
}
