import pg from 'pg';
import type { Statement } from '#database';

/** Work of Postgres for a statement. */
export interface Plan {
  /** Returned rows. */
  readonly rows: number;
  /** Read pages of 8 KiB, from memory or disk. */
  readonly buffers: number;
  /** Names of the scanned indexes. */
  readonly indexes: ReadonlySet<string>;
  /** Names of the tables with a sequential scan. */
  readonly sequential: ReadonlySet<string>;
  /** Pairs of rows that joins compared and discarded. */
  readonly pairsTried: number;
  /** Rows of `episodes` and `states` that were read, including filtered ones. */
  readonly episodesRead: number;
}

/** Plan for these values, or the generic plan that a connection changes to automatically. */
export const planModes = ['force_custom_plan', 'force_generic_plan'] as const;
export type PlanMode = (typeof planModes)[number];

interface Node {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Join Filter'?: number;
  readonly 'Shared Hit Blocks': number;
  readonly 'Shared Read Blocks': number;
  readonly Plans?: readonly Node[];
}

/** Explains a prepared statement, as the services run it, and rolls its writes back. */
export async function explain(
  client: pg.Client,
  { text }: Statement,
  values: readonly unknown[],
  mode: PlanMode,
): Promise<Plan> {
  await client.query(`BEGIN; SET LOCAL plan_cache_mode = ${mode}; PREPARE explained AS ${text}`);
  try {
    const list = values.map(literal).join(', ');
    const run = `EXECUTE explained${list && ` (${list})`}`;
    // The first run also reads pages of the catalog, which EXPLAIN would count.
    await client.query(`SAVEPOINT before; ${run}; ROLLBACK TO before`);
    const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: Node }] }>(
      `EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) ${run}`,
    );
    return read((rows[0] as (typeof rows)[number])['QUERY PLAN'][0].Plan);
  } finally {
    await client.query('ROLLBACK; DEALLOCATE explained');
  }
}

/**
 * Returns a query of a function, with the function's arguments as its parameters.
 *
 * @param pattern matches the body with the query as its first group; default: the returned query.
 */
export async function inFunction(
  client: pg.Client,
  name: string,
  pattern = /RETURN QUERY([^;]*);/,
): Promise<Statement> {
  const { rows } = await client.query<{ body: string; names: string[]; types: string[] }>(
    `SELECT prosrc AS body, proargnames[:pronargs] AS names,
       ARRAY(SELECT format_type(t, NULL) FROM unnest(proargtypes) t) AS types FROM pg_proc
       WHERE oid = $1::regproc`,
    [name],
  );
  const { body, names, types } = rows[0] as (typeof rows)[number];
  const query = pattern.exec(body)?.[1];
  if (query === undefined) throw new Error(`${name} has no ${String(pattern)}`);
  const text = names.reduce(
    (sql, argument, index) => sql.replaceAll(argument, `$${index + 1}::${types[index]}`),
    query,
  );
  return { name, text };
}

function read(top: Node): Plan {
  const nodes = [top];
  for (const node of nodes) nodes.push(...(node.Plans ?? []));
  const names = (found: (string | undefined)[]) =>
    new Set(found.filter((name) => name !== undefined));
  return {
    rows: top['Actual Rows'],
    buffers: nodes.reduce((sum, node) => sum + ownBuffers(node), 0),
    indexes: names(nodes.map((node) => node['Index Name'])),
    pairsTried: nodes.reduce(
      (sum, node) => sum + (node['Rows Removed by Join Filter'] ?? 0) * node['Actual Loops'],
      0,
    ),
    episodesRead: nodes.filter(isScanOfEpisodes).reduce((sum, node) => sum + rowsRead(node), 0),
    sequential: names(
      nodes.filter((node) => node['Node Type'] === 'Seq Scan').map((node) => node['Relation Name']),
    ),
  };
}

/** Returns the buffers of a node without those of its children; not less than 0 (writing CTEs). */
function ownBuffers(node: Node): number {
  const buffers = (one: Node) => one['Shared Hit Blocks'] + one['Shared Read Blocks'];
  return Math.max(
    0,
    buffers(node) - (node.Plans ?? []).reduce((sum, below) => sum + buffers(below), 0),
  );
}

function isScanOfEpisodes(node: Node): boolean {
  return (
    /^(episodes|states)$/.test(node['Relation Name'] ?? '') && node['Node Type'].endsWith('Scan')
  );
}

function rowsRead(node: Node): number {
  return (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'];
}

function literal(value: unknown): string {
  if (value === null) return 'NULL';
  if (typeof value === 'number') return String(value);
  return pg.escapeLiteral(
    Array.isArray(value)
      ? `{${value.map((one) => (one === null ? 'NULL' : JSON.stringify(plain(one)))).join()}}`
      : plain(value),
  );
}

function plain(value: unknown): string {
  if (value instanceof Date) return value.toISOString();
  return Buffer.isBuffer(value) ? `\\x${value.toString('hex')}` : String(value);
}
