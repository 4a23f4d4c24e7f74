import { databaseConfig } from '#database';
import { identityConfig } from '#identity';
import { z } from 'zod';

const { DATABASE_URL } = databaseConfig.shape;

/** Configuration of `dump`. */
export const dumpConfig = z.object({
  DATABASE_URL: DATABASE_URL.describe('Postgres itself, no pooler, with the login of `dump`.'),
  ...identityConfig.shape,
});
export type DumpConfig = z.output<typeof dumpConfig>;

/** Configuration of `backup` and `restore`. */
export const backupConfig = z.object({
  DATABASE_URL: DATABASE_URL.describe('Postgres itself, no pooler, as the owner of the database.'),
});

/** Configuration of `copy-users`. */
export const copyConfig = z.object({
  SOURCE_DATABASE_URL: DATABASE_URL.describe(
    'Postgres that has the users, as the owner of the database; no pooler.',
  ),
  TARGET_DATABASE_URL: DATABASE_URL.describe(
    'Postgres that gets the users, as the owner of the database; no pooler.',
  ),
  ...identityConfig.shape,
});
