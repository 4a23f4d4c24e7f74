import { type FeedsMode, feedsMode } from '#contracts';
import { commonConfig } from '#runtime';
import { z } from 'zod';

/** Environment variables of the embedded default. */
export const standaloneConfig = z.object({
  ...commonConfig.shape,
  POSTGRES_URL: z
    .url({ protocol: /^postgres(ql)?$/ })
    .optional()
    .describe('A Postgres to use, as the owner of a database; its own is not started then.'),
  REDIS_URL: z
    .url({ protocol: /^rediss?$/ })
    .optional()
    .describe('A Redis to use; its own is not started then.'),
  FEEDS: feedsMode
    .optional()
    .describe('As the option `--feeds`, which has priority. Not set: `fetched`.'),
});

/** Options of the command line. */
export interface StartOptions {
  readonly replicas: number;
  /** Port of the edge; 0 for any free port. */
  readonly port: number;
  readonly host: string;
  /** Public origin, if it differs from host and port. */
  readonly publicUrl?: string;
  /** Source of titles and episodes. Default: the variable FEEDS, else `fetched`. */
  readonly feeds?: FeedsMode;
  readonly data: string;
}

/** Options of the embedded default. */
export type StandaloneOptions = StartOptions & z.output<typeof standaloneConfig>;
