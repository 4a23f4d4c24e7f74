import { type FeedsMode, feedsMode } from '#contracts';
import { commonConfig } from '#runtime';
import { z } from 'zod';

/** Environment variables of `podcast-sync start`. */
export const standaloneConfig = z
  .object({
    ...commonConfig.shape,
    POSTGRES_URL: z
      .url({ protocol: /^postgres(ql)?$/ })
      .optional()
      .describe(
        'Postgres to use instead of the embedded one, as the owner of a database. Only one ' +
          'system can run on a server, unless the owner cannot create roles.',
      ),
    REDIS_URL: z
      .url({ protocol: /^rediss?$/ })
      .optional()
      .describe('Redis to use instead of the embedded one.'),
    FEEDS: feedsMode
      .optional()
      .describe('As the option `--feeds`, which has priority. Not set: `fetched`.'),
  })
  .describe(
    'The apps also get the variables of their sections below, such as `CORS_ORIGINS`, except ' +
      'those that `start` sets or withholds: `PG*`, `POSTGRES_*`, `REDIS_*`, `QUEUE_REDIS_*`, ' +
      '`AUTH_*` (but `AUTH_DEVELOPMENT_KEYS`), `API_*`, `SECRETS_KEY`, `SESSION_KEY`, ' +
      '`CURSOR_KEY`, `KEYS_DIRECTORY`, `*DATABASE_URL`, `HOST`, `PORT`, `PUBLIC_URL`, ' +
      '`OPS_HOST` and `OPS_PORT`.',
  );

/** Options of `podcast-sync start` from the command line. */
export interface StartOptions {
  readonly replicas: number;
  /** Port of the edge; 0 for any free port. */
  readonly port: number;
  readonly host: string;
  /** Origin of the URL for clients. Default: a URL of host and port. */
  readonly publicUrl?: string;
  /** Source of titles and episodes. Default: the variable FEEDS, else `fetched`. */
  readonly feeds?: FeedsMode;
  /** Path of the data directory. */
  readonly data: string;
}

/** Options of `podcast-sync start` from the command line and from variables. */
export type StandaloneOptions = StartOptions & z.output<typeof standaloneConfig>;
