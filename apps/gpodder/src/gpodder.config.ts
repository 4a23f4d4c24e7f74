import { feedsMode } from '#contracts';
import { callConfig, httpConfig } from '#http';
import { redisConfig } from '#redis';
import { commonConfig, integer, opsConfig, tracingConfig } from '#runtime';
import { z } from 'zod';

export const gpodderConfig = z.object({
  ...commonConfig.shape,
  ...opsConfig.shape,
  ...tracingConfig.shape,
  ...redisConfig.shape,
  ...httpConfig.shape,
  PORT: integer(0, 65_535).default(3_001).describe('Port to listen on; 0 for any free one.'),
  PUBLIC_URL: httpConfig.shape.PUBLIC_URL.describe(
    'Base URL that users type into their apps. Not set: the address of the request.',
  ),
  MAX_BODY_BYTES: integer(1_024, 67_108_864)
    .default(5_242_880)
    .describe('Maximum bytes of one request body.'),
  SESSION_KEY: z
    .string()
    .min(32)
    .describe(
      'Key that signs session cookies: at least 32 characters, the same for all replicas. ' +
        'A change ends all sessions.',
    ),
  ...callConfig.shape,
  MAX_READS_PER_USER: callConfig.shape.MAX_READS_PER_USER.describe(
    'Maximum concurrent reads of one user.',
  ),
  MAX_ENTRIES: integer(1, 1_000_000)
    .default(30_000)
    .describe(
      'Actions or feeds in one request body. For feeds also: at most 10,000 to add, 10,000 to ' +
        'remove, or 5,000 in a whole list.',
    ),
  FEEDS: feedsMode
    .default('off')
    .describe('Unless `off`, lists have the titles and pictures of podcasts.'),
});
export type GpodderConfig = z.output<typeof gpodderConfig>;

/** Injection token of the gpodder app's configuration. */
export const CONFIG = Symbol('gpodder configuration');
/** Injection token of the gpodder app's log. */
export const LOG = Symbol('log');
