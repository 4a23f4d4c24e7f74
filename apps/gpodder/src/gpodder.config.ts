import { feedsMode } from '#contracts';
import { httpConfig, rateLimit } from '#http';
import { redisConfig } from '#redis';
import { commonConfig, opsConfig, tracingConfig } from '#runtime';
import { z } from 'zod';

const integer = (least: number, most: number) => z.coerce.number().int().min(least).max(most);

/** The configuration of the gpodder app. */
export const gpodderConfig = z.object({
  ...commonConfig.shape,
  ...opsConfig.shape,
  ...tracingConfig.shape,
  ...redisConfig.shape,
  ...httpConfig.shape,
  PORT: integer(0, 65_535).default(3_001).describe('Port to listen on; 0 for any free one.'),
  PUBLIC_URL: httpConfig.shape.PUBLIC_URL.describe(
    'Base URL that people type into their apps. Not set: as the request was addressed.',
  ),
  MAX_BODY_BYTES: integer(1_024, 67_108_864)
    .default(5_242_880)
    .describe('Bytes in one request body.'),
  SESSION_KEY: z
    .string()
    .min(32)
    .describe(
      'Signs the cookies of sessions: at least 32 characters, the same for all replicas. Another one ends all.',
    ),
  RATE_LIMIT_PER_USER: rateLimit.describe(
    'Requests of one user, as `requests/seconds`. Not set: no limit.',
  ),
  MAX_ENTRIES: integer(1, 1_000_000)
    .default(30_000)
    .describe(
      'Actions in one request body; of feeds it adds at most 10,000 and removes as many, or lists 5,000.',
    ),
  FEEDS: feedsMode
    .default('off')
    .describe('Unless `off`, lists have the titles and pictures of podcasts.'),
  MAX_CALLS: integer(1, 100_000)
    .default(1_000)
    .describe('Calls that wait for one service at the same time.'),
  MAX_WRITES_PER_USER: integer(1, 100_000)
    .default(4)
    .describe('Uploads of one user that run at the same time.'),
  MAX_READS_PER_USER: integer(1, 100_000)
    .default(8)
    .describe('Reads of one user that run at the same time.'),
});
export type GpodderConfig = z.output<typeof gpodderConfig>;

/** Injection token of the configuration. */
export const CONFIG = Symbol('gpodder configuration');
/** Injection token of the log. */
export const LOG = Symbol('log');
