import { databaseConfig } from '#database';
import { identityConfig } from '#identity';
import { z } from 'zod';

/** The configuration of `dump`. */
export const dumpConfig = z.object({
  DATABASE_URL: databaseConfig.shape.DATABASE_URL.describe('Postgres itself, no pooler, with the login of `dump`.'),
  ...identityConfig.shape,
});
export type DumpConfig = z.output<typeof dumpConfig>;
