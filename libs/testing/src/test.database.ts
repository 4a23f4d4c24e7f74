import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { inject } from 'vitest';
import { roleUrls, type RoleUrls } from './migrated.database.js';

/** A database that belongs to one test file. */
export interface TestDatabase {
  readonly name: string;
  /** May do everything. */
  readonly ownerUrl: string;
  /** As the apps connect, with no more rights than they have. */
  readonly urls: RoleUrls;
  /** Removes it, cutting off whoever is still connected. */
  drop(): Promise<void>;
}

/**
 * Makes a database with the current schema and no rows, as a copy of the migrated template. To be called in
 * `beforeAll`; only in the `int` tier.
 */
export async function createDatabase(): Promise<TestDatabase> {
  const { templateUrl } = inject('servers');
  const template = new URL(templateUrl).pathname.slice(1);
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  const url = (database: string) => Object.assign(new URL(templateUrl), { pathname: `/${database}` }).href;
  await run(url('postgres'), `CREATE DATABASE ${name} TEMPLATE ${template}`);
  return {
    name,
    ownerUrl: url(name),
    urls: roleUrls(url(name)),
    drop: () => run(url('postgres'), `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
  };
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
