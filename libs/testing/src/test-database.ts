import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { inject } from 'vitest';
import { roleUrls, type RoleUrls } from './migrated-database.js';

/** A database that belongs to one test file. */
export interface TestDatabase {
  readonly name: string;
  /** URL with the login of the owner, which has all privileges. */
  readonly ownerUrl: string;
  /** URLs with the login of each app, which has only the rights of that app. */
  readonly urls: RoleUrls;
  /** Removes the database and closes its connections. */
  drop(): Promise<void>;
}

/**
 * Creates a database with the current schema and no rows, as a copy of the migrated template. Call
 * this function in `beforeAll`, only in the `int` tier.
 */
export async function createDatabase(): Promise<TestDatabase> {
  const { templateUrl } = inject('servers');
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  const ownerUrl = await copyDatabase(templateUrl, name);
  return {
    name,
    ownerUrl,
    urls: roleUrls(ownerUrl),
    drop: () =>
      runStatement(
        buildUrl(templateUrl, 'postgres'),
        `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`,
      ),
  };
}

/** Copies the migrated template to a new database. @returns the URL of the copy, as owner. */
export async function copyDatabase(templateUrl: string, name: string): Promise<string> {
  const template = new URL(templateUrl).pathname.slice(1);
  await runStatement(
    buildUrl(templateUrl, 'postgres'),
    `CREATE DATABASE ${name} TEMPLATE ${template}`,
  );
  return buildUrl(templateUrl, name);
}

/**
 * Forbids connections to the migrated template, because Postgres copies no database that is in use.
 *
 * @returns the URL of another database of the server, as owner, for tests that need no tables.
 */
export async function closeTemplate(templateUrl: string): Promise<string> {
  const adminUrl = buildUrl(templateUrl, 'postgres');
  const template = new URL(templateUrl).pathname.slice(1);
  await runStatement(adminUrl, `ALTER DATABASE ${template} ALLOW_CONNECTIONS false`);
  return adminUrl;
}

function buildUrl(serverUrl: string, database: string): string {
  return Object.assign(new URL(serverUrl), { pathname: `/${database}` }).href;
}

async function runStatement(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
