import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { inject } from 'vitest';
import { roleUrls, type RoleUrls } from './migrated-database.js';

/** A database that belongs to one test file. */
export interface TestDatabase {
  readonly name: string;
  /** URL with the role of the owner, which has all rights. */
  readonly ownerUrl: string;
  /** URLs with the roles of the apps, which have the rights of the apps. */
  readonly urls: RoleUrls;
  /** Removes the database and closes its connections. */
  drop(): Promise<void>;
}

/**
 * Creates a database with the current schema and no rows, as a copy of the migrated template. Call
 * it in `beforeAll`; only in the `int` tier.
 */
export async function createDatabase(): Promise<TestDatabase> {
  const { templateUrl } = inject('servers');
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  const ownerUrl = await copyDatabase(templateUrl, name);
  return {
    name,
    ownerUrl,
    urls: roleUrls(ownerUrl),
    drop: () => run(urlOf(templateUrl, 'postgres'), `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
  };
}

/** Copies the migrated template to a new database. @returns the URL of the copy, as owner. */
export async function copyDatabase(templateUrl: string, name: string): Promise<string> {
  const template = new URL(templateUrl).pathname.slice(1);
  await run(urlOf(templateUrl, 'postgres'), `CREATE DATABASE ${name} TEMPLATE ${template}`);
  return urlOf(templateUrl, name);
}

/**
 * Forbids connections to the migrated template, because Postgres copies no database that is in use.
 *
 * @returns the URL of another database of the server, as owner, for tests that need no tables.
 */
export async function closeTemplate(templateUrl: string): Promise<string> {
  const adminUrl = urlOf(templateUrl, 'postgres');
  const template = new URL(templateUrl).pathname.slice(1);
  await run(adminUrl, `ALTER DATABASE ${template} ALLOW_CONNECTIONS false`);
  return adminUrl;
}

function urlOf(serverUrl: string, database: string): string {
  return Object.assign(new URL(serverUrl), { pathname: `/${database}` }).href;
}

async function run(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
