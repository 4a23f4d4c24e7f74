import { httpConfig } from '#http';
import { redisConfig } from '#redis';
import { commonConfig, integer, opsConfig, tracingConfig } from '#runtime';
import { databaseConfig } from '#database';
import { z } from 'zod';
import { issuerConfig } from './issuer/issuer.config.js';
import { peopleConfig } from './people/people.config.js';
import { relyingPartyConfig } from './relying.party/relying-party.config.js';

/** Schema of the account app's settings: HTTP, accounts, issuer, and sign-in at a provider. */
export const accountConfig = z.object({
  ...commonConfig.shape,
  ...opsConfig.shape,
  ...tracingConfig.shape,
  ...databaseConfig.omit({ EVENTS: true, QUOTA_STORED_ANSWER_BYTES: true }).shape,
  ...redisConfig.shape,
  ...httpConfig.shape,
  PORT: integer(0, 65_535)
    .default(3_002)
    .describe('Port of pages and issuer; 0 for any free port.'),
  MAX_BODY_BYTES: integer(1_024, 1_048_576)
    .default(65_536)
    .describe('Maximum bytes of one request body.'),
  PUBLIC_URL: z
    .url({ protocol: /^https?$/ })
    .transform((url) => new URL(url).origin)
    .describe('Origin at which browsers and apps reach this app; also the `iss` of its tokens.'),
  MAX_IN_FLIGHT: integer(1, 10_000)
    .default(32)
    .describe('Maximum number of requests of other apps in progress per replica.'),
  MAX_CALLS: integer(1, 100_000).default(200).describe('Maximum concurrent calls to one service.'),
  ...peopleConfig.shape,
  ...issuerConfig.shape,
  ...relyingPartyConfig.shape,
});
/** Parsed settings of the account app. */
export type AccountSettings = z.output<typeof accountConfig>;
/** The settings, with `API_URLS` always set: by default it is `PUBLIC_URL`. */
export type AccountConfig = AccountSettings & { readonly API_URLS: [string, ...string[]] };

/** Injection token of the configuration. */
export const CONFIG = Symbol('account configuration');
/** Injection token of the log. */
export const LOG = Symbol('log');
/** Injection token of the Redis connection for commands. */
export const REDIS = Symbol('redis');
