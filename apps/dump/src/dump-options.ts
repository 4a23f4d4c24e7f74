import { databaseConfig } from '#database';
import { identityConfig } from '#identity';
import { z } from 'zod';

const { DATABASE_URL } = databaseConfig.shape;

export const dumpConfig = z.object({
  DATABASE_URL: DATABASE_URL.describe('Postgres itself, no pooler, with the login of `dump`.'),
  ...identityConfig.shape,
});
export type DumpConfig = z.output<typeof dumpConfig>;

export const backupConfig = z
  .object({
    DATABASE_URL: DATABASE_URL.describe(
      'Postgres itself, no pooler, as the owner of the database.',
    ),
  })
  .describe(
    '`restore` also reads `MIGRATE_GROUPS`, as `migrate`. Without `DATABASE_URL`, it reads ' +
      '`POSTGRES_URL`, as `start`.',
  );

export const copyConfig = z.object({
  SOURCE_DATABASE_URL: DATABASE_URL.describe(
    'Postgres that has the users, as the owner of the database; no pooler.',
  ),
  TARGET_DATABASE_URL: DATABASE_URL.describe(
    'Postgres that gets the users, as the owner of the database; no pooler.',
  ),
  ...identityConfig.shape,
});

/** One of `of` partitions of all users, by the hash of their ids. `index` starts at 0. */
export interface UserPartition {
  readonly index: number;
  readonly of: number;
}

/** Options of `dump`. */
export interface DumpOptions {
  /** Path of a file that names users. Default: all users of the partition. */
  readonly users?: string;
  readonly shard: UserPartition;
  /** Path of the new file. Default: standard output. */
  readonly out?: string;
}

/** Options of `copy-users`. */
export interface CopyOptions {
  /** Path of a file that names users. Default: all users. */
  readonly users?: string;
  /** Replaces the data of users that exist in the target. */
  readonly replace: boolean;
}
