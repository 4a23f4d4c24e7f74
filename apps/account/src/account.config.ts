import { httpConfig } from '#http';
import { redisConfig } from '#redis';
import { identityConfig } from '#identity';
import { commaList, commonConfig, integer, opsConfig, tracingConfig } from '#runtime';
import { databaseConfig } from '#database';
import { z } from 'zod';
import { peopleConfig } from './people/people.config.js';

const requestLimit = integer(1, 1_000_000);

const issuerConfig = z.object({
  KEYS_DIRECTORY: z
    .string()
    .describe(
      'Directory of the signing key (`signing-key.json`) and the key set (`jwks.json`). ' +
        'Changed files are reloaded.',
    ),
  API_URLS: commaList
    .pipe(z.array(z.url({ protocol: /^https?$/ })))
    .optional()
    .describe(
      'URLs of the API, which apps send as `resource` (RFC 8707): `https://api.example,…`. ' +
        'Not set: `PUBLIC_URL`.',
    ),
  API_AUDIENCE: z
    .string()
    .default('podcast-sync')
    .describe('`aud` of access tokens: one of `AUTH_AUDIENCE` of the API.'),
  MAX_TOKEN_REQUESTS: requestLimit.default(300).describe('Token requests per network and minute.'),
  MAX_AUTHORIZE_REQUESTS: requestLimit
    .default(60)
    .describe('Authorization requests of browsers and devices, per network and minute.'),
  MAX_REGISTRATIONS: requestLimit
    .default(60)
    .describe('Registrations of apps per network and hour.'),
});

const relyingPartyConfig = z.object({
  SIGN_IN_ISSUER: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe(
      'OpenID Connect provider for sign-in, which replaces passwords and registration. ' +
        'Its redirect URI is `PUBLIC_URL` followed by `/sign-in/provider/callback`.',
    ),
  SIGN_IN_CLIENT_ID: z
    .string()
    .default('podcast-sync')
    .describe('Client id of this app at the provider.'),
  SIGN_IN_CLIENT_SECRET: z
    .string()
    .min(1)
    .optional()
    .describe('Client secret of this app at the provider. Not set: a public client.'),
  ...identityConfig.shape,
});

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
/** Settings in which `API_URLS` is never undefined. The default is `PUBLIC_URL`. */
export type AccountConfig = AccountSettings & { readonly API_URLS: [string, ...string[]] };

/** Injection token of the configuration. */
export const CONFIG = Symbol('account configuration');
/** Injection token of the log. */
export const LOG = Symbol('log');
/** Injection token of the Redis connection that sends commands and has no subscription. */
export const REDIS = Symbol('redis');
