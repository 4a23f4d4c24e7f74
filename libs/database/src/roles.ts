import type { QueryRunner } from 'typeorm';
import { defaultStatementTimeoutMs } from './pool.js';

/** The group role of each app. Migrations grant privileges only to groups; logins are members. */
export const groups = {
  subscription: 'podcast_sync_subscription_group',
  episode: 'podcast_sync_episode_group',
  deletion: 'podcast_sync_deletion_group',
  dump: 'podcast_sync_dump_group',
  account: 'podcast_sync_account_group',
  feed: 'podcast_sync_feed_group',
} as const;

/**
 * SQLSTATEs of CREATE ROLE if a concurrent migration created the role: duplicate_object and
 * unique_violation. The migration can be of another database, because a server's databases share
 * their roles.
 */
const duplicateCodes = ['42710', '23505'];
/** SQLSTATE of "tuple concurrently updated" (internal_error). */
const catalogRaceCode = 'XX000';

/** Creates the missing group roles. The connection needs the privilege to create roles. */
export async function ensureGroups(runner: QueryRunner): Promise<void> {
  for (const group of Object.values(groups))
    await createRole(runner, group, `CREATE ROLE ${group} NOLOGIN`);
}

/** Returns true for a GRANT or REVOKE that names a group. */
const isGroupGrant = (sql: string) =>
  /\b(?:GRANT|REVOKE)\b/.test(sql) && Object.values(groups).some((group) => sql.includes(group));

/**
 * Makes a runner skip each GRANT and REVOKE that names a group. It is for a database owner without
 * the privilege to create roles. In that case, the groups do not exist.
 */
export function skipGroupGrants(runner: QueryRunner): void {
  type RunQuery = (sql: string, ...options: unknown[]) => Promise<unknown>;
  const runQuery = runner.query.bind(runner) as RunQuery;
  runner.query = (sql: string, ...options: unknown[]) =>
    runQuery(removeGroupGrants(sql), ...options) as never;
}

function removeGroupGrants(sql: string): string {
  const statements = sql.split(';');
  return statements.filter((statement) => !isGroupGrant(statement)).join(';');
}

/**
 * Creates or updates the login role with the user name and password in `url`, and adds the role to
 * a group. The statements of the role get the default time limit.
 */
export async function ensureLogin(runner: QueryRunner, group: string, url: string): Promise<void> {
  const { username, password } = new URL(url);
  const roleName = decodeURIComponent(username);
  await createRole(runner, roleName, await formatSql(runner, 'CREATE ROLE %I LOGIN', roleName));
  await retryOnCatalogRace(
    runner,
    await formatSql(
      runner,
      'ALTER ROLE %I LOGIN PASSWORD %L',
      roleName,
      decodeURIComponent(password),
    ),
  );
  await retryOnCatalogRace(runner, await formatSql(runner, 'GRANT %I TO %I', group, roleName));
  const timeoutMs = String(defaultStatementTimeoutMs);
  await retryOnCatalogRace(
    runner,
    await formatSql(runner, 'ALTER ROLE %I SET statement_timeout = %L', roleName, timeoutMs),
  );
}

/**
 * Runs a statement, at most `attempts` times. Repeats it only if a concurrent migration changed the
 * same catalog row.
 */
async function retryOnCatalogRace(runner: QueryRunner, sql: string, attempts = 10): Promise<void> {
  try {
    await runner.query(sql);
  } catch (error) {
    if ((error as { code?: string }).code !== catalogRaceCode || attempts <= 1) throw error;
    await retryOnCatalogRace(runner, sql, attempts - 1);
  }
}

async function createRole(runner: QueryRunner, role: string, sql: string): Promise<void> {
  const existing: unknown[] = await runner.query('SELECT 1 FROM pg_roles WHERE rolname = $1', [
    role,
  ]);
  if (existing.length > 0) return;
  await runner.query(sql).catch((error: { code?: string }) => {
    if (!duplicateCodes.includes(error.code ?? '')) throw error;
  });
}

/** Fills a template by Postgres' format(), because statements about roles accept no parameters. */
async function formatSql(
  runner: QueryRunner,
  template: string,
  ...values: string[]
): Promise<string> {
  const parameters = values.map((_, index) => `$${index + 2}::text`).join(', ');
  const rows: { sql: string }[] = await runner.query(`SELECT format($1, ${parameters}) AS sql`, [
    template,
    ...values,
  ]);
  return (rows[0] as { sql: string }).sql;
}
