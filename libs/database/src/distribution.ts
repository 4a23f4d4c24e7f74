import type { QueryRunner } from 'typeorm';

/**
 * The functions that Citus runs on the node with the rows of their first argument, the user
 * `p_user`. The functions that they call run on the same node. `deletion.record_erasure` is not in
 * the list, because it also changes an account, and accounts are on the coordinator.
 */
export const delegatedFunctions: readonly string[] = [
  'deletion.add_pending',
  'deletion.add_removed_rows',
  'deletion.claim',
  'deletion.claim_erasure',
  'deletion.count_attempt',
  'deletion.end_erasure',
  'deletion.end_pending',
  'deletion.erase_requests',
  'episode.count_states',
  'episode.merge_subscriptions',
  'subscription.ensure_feeds',
  'sync.advance_clock',
  'sync.begin_write',
  'sync.keep_answer',
  'sync.lock_clock',
  'sync.refuse_user',
];

/** The table with which Citus colocates the others, so that all rows of a user are on one node. */
const colocationTable = 'sync.user_clock';

/**
 * Selects the tables with rows of users: first {@link colocationTable}, then each table after the
 * tables that its foreign keys reference.
 */
const selectTablesOfUsers = `
  WITH RECURSIVE tables AS (
    SELECT c.oid, 0 AS level FROM pg_class c
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'user_id' AND NOT a.attisdropped
    WHERE c.relkind = 'r'
      AND c.relnamespace::regnamespace::text IN ('sync', 'subscription', 'episode', 'deletion')
    UNION
    SELECT x.conrelid, t.level + 1 FROM tables t
    JOIN pg_constraint x ON x.confrelid = t.oid AND x.contype = 'f' AND x.conrelid <> x.confrelid
  )
  SELECT oid::regclass::text AS name FROM tables
  GROUP BY oid ORDER BY oid::regclass::text <> '${colocationTable}', max(level), 1`;

/** Returns the tables to distribute, in the order that foreign keys require. */
export async function readTablesOfUsers(runner: Pick<QueryRunner, 'query'>): Promise<string[]> {
  const rows = (await runner.query(selectTablesOfUsers)) as { name: string }[];
  return rows.map(({ name }) => name);
}

/**
 * Checks that the database can be distributed. Before Citus 13.2, an UPDATE with a list of columns
 * could set the wrong columns (https://github.com/citusdata/citus/issues/7674).
 *
 * @throws Error without the extension `citus`, or with a version before 13.2.
 */
export async function requireCitus(runner: Pick<QueryRunner, 'query'>): Promise<void> {
  const [citus] = (await runner.query(
    `SELECT extversion AS version,
       string_to_array(split_part(extversion, '-', 1), '.')::int[] >= '{13,2}' AS "isSupported"
     FROM pg_extension WHERE extname = 'citus'`,
  )) as { version: string; isSupported: boolean }[];
  if (citus?.isSupported) return;
  const requirement = citus
    ? `Citus 13.2 or later, not ${citus.version}`
    : 'the extension: run CREATE EXTENSION citus on each node (docs/guide/citus.md)';
  throw new Error(`DATABASE_DISTRIBUTION=citus needs ${requirement}`);
}

/** Returns true if Citus distributes the tables with rows of users. */
export async function isDistributed(runner: QueryRunner): Promise<boolean> {
  const [catalogRow] = (await runner.query(
    `SELECT to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL
       AND to_regclass('${colocationTable}') IS NOT NULL AS "isPossible"`,
  )) as { isPossible: boolean }[];
  if (!catalogRow?.isPossible) return false;
  const distributedTables: unknown[] = await runner.query(
    `SELECT 1 FROM pg_dist_partition WHERE logicalrelid = '${colocationTable}'::regclass`,
  );
  return distributedTables.length > 0;
}

/**
 * Distributes the tables and functions of users that are not yet distributed. Citus copies existing
 * rows to their nodes. The coordinator keeps the original rows, which no query sees, until
 * `truncate_local_data_after_distributing_table` removes them.
 */
export async function distributeTablesOfUsers(runner: QueryRunner): Promise<void> {
  for (const table of await readTablesOfUsers(runner))
    await runner.query(
      `SELECT create_distributed_table($1::regclass, 'user_id', colocate_with => $2)
       WHERE NOT EXISTS (SELECT 1 FROM pg_dist_partition WHERE logicalrelid = $1::regclass)`,
      [table, table === colocationTable ? 'none' : colocationTable],
    );
  // Citus creates only new functions on all nodes. This statement does the same for functions that
  // are older than the extension.
  await runner.query(
    `SELECT create_distributed_function(p.oid::regprocedure) FROM pg_proc p
     WHERE p.pronamespace::regnamespace::text IN ('sync', 'subscription', 'episode', 'deletion')
       AND NOT EXISTS (
         SELECT 1 FROM pg_dist_object WHERE classid = 'pg_proc'::regclass AND objid = p.oid
       )`,
  );
  for (const name of delegatedFunctions)
    await runner.query(
      `SELECT create_distributed_function(
         $1::regproc::regprocedure, 'p_user', colocate_with => $2, force_delegation => true
       )
       WHERE NOT EXISTS (
         SELECT 1 FROM pg_dist_object
         WHERE classid = 'pg_proc'::regclass AND objid = $1::regproc
           AND distribution_argument_index IS NOT NULL
       )`,
      [name, colocationTable],
    );
}

/**
 * Creates the views for other services, with their grants, and a copy of `sync.migrations` on all
 * nodes. It must run again after a node was added, because Citus does not copy grants of views. The
 * distribution of the tables must be committed.
 *
 * @throws Error if a node is unreachable.
 */
export async function publishOnAllNodes(runner: QueryRunner): Promise<void> {
  const views = (await runner.query(
    `SELECT c.oid::regclass::text AS name, pg_get_viewdef(c.oid) AS definition,
       (SELECT string_agg(a.grantee::regrole::text, ', ') FROM aclexplode(c.relacl) a
        WHERE a.privilege_type = 'SELECT' AND a.grantee <> c.relowner) AS readers
     FROM pg_class c
     WHERE c.relkind = 'v'
       AND c.relnamespace::regnamespace::text IN ('sync', 'subscription', 'episode', 'deletion')`,
  )) as { name: string; definition: string; readers: string | null }[];
  for (const { name, definition, readers } of views) {
    await runner.query(`CREATE OR REPLACE VIEW ${name} AS ${definition}`);
    if (readers === null) continue;
    const failures = (await runner.query(
      'SELECT nodename AS node, result FROM run_command_on_workers($1) WHERE NOT success',
      [`GRANT SELECT ON ${name} TO ${readers}`],
    )) as { node: string; result: string }[];
    if (failures.length > 0)
      throw new Error(failures.map(({ node, result }) => `${node}: ${result}`).join('\n'));
  }
  await runner.query(
    `SELECT create_reference_table('sync.migrations') WHERE NOT EXISTS (
       SELECT 1 FROM pg_dist_partition WHERE logicalrelid = 'sync.migrations'::regclass
     )`,
  );
}
