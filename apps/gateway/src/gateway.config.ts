import { defaultAnswerBytes, textLimits } from '#contracts';
import { httpConfig, rateLimit } from '#http';
import { identityConfig } from '#identity';
import { redisConfig } from '#redis';
import { commaList as list, commonConfig, opsConfig, tracingConfig } from '#runtime';
import { z } from 'zod';
import { trustedIssuers } from './auth/trusted.issuers.js';

const integer = (least: number, most: number) => z.coerce.number().int().min(least).max(most);

/** The configuration of the gateway. */
export const gatewayConfig = z
  .object({
    ...commonConfig.shape,
    ...opsConfig.shape,
    ...tracingConfig.shape,
    ...redisConfig.shape,
    ...httpConfig.shape,
    AUTH_ISSUER: list
      .pipe(z.array(z.string().min(1)))
      .describe('The `iss` that tokens must carry; `iss,…` for several issuers.'),
    AUTH_AUDIENCE: list
      .pipe(z.array(z.string().min(1)))
      .describe('The `aud` that tokens must carry; `aud,…` where any of several will do.'),
    AUTH_SERVERS: list
      .pipe(z.array(z.url({ protocol: /^https?$/ })))
      .optional()
      .describe(
        'Where apps get tokens, told at `/.well-known/oauth-protected-resource`: `issuer,…`. Not set: the issuers of `AUTH_ISSUER` that are URLs.',
      ),
    AUTH_APP_PASSWORDS: z
      .enum(['on', 'off'])
      .default('off')
      .describe('Whether app passwords (`pst_…`) of the account service are accepted.'),
    AUTH_JWKS_URL: z
      .string()
      .optional()
      .describe(
        'Key set of the first issuer by URL, or `iss=URL,…`. An issuer with neither URL nor file is asked for it by OpenID Connect discovery.',
      ),
    AUTH_JWKS_FILE: z
      .string()
      .optional()
      .describe(
        'Key set of the first issuer in a file, or `iss=file,…`; read again when it changes, served at `/.well-known/jwks.json`.',
      ),
    AUTH_DEVELOPMENT_KEYS: z
      .enum(['allow', 'refuse'])
      .optional()
      .describe(
        'Whether a key set in a file may hold development keys (`kid` starts with `dev-`). Not set: refused where `NODE_ENV` is `production`.',
      ),
    NODE_ENV: z.string().optional().describe('`production` refuses development keys.'),
    ...identityConfig.shape,
    CORS_ORIGINS: list
      .pipe(z.array(z.url({ protocol: /^https?$/ })))
      .optional()
      .describe('Web origins that may call: `https://app.example,…`. Not set: none.'),
    FEEDS: z
      .enum(['on', 'off'])
      .default('off')
      .describe('Whether `/feeds` exists, with titles and episodes. Needs the feed service.'),
    RATE_LIMIT_PER_USER: rateLimit.describe(
      'Requests of one user, as `requests/seconds`. Not set: no limit.',
    ),
    MAX_SUBSCRIPTION_ENTRIES: integer(1, 10_000)
      .default(1_000)
      .describe('Entries in one batch of subscriptions.'),
    MAX_EPISODE_ENTRIES: integer(1, 10_000)
      .default(250)
      .describe('Entries in one batch of episodes.'),
    MAX_PER_PAGE: integer(1, 10_000).default(250).describe('Rows on one page.'),
    // Not above the maximum reply of the transport.
    MAX_ANSWER_BYTES: integer(131_072, 8_000_000)
      .default(defaultAnswerBytes)
      .describe('Bytes in one answer: a start whose other limits could pass it is refused.'),
    MAX_CALLS: integer(1, 100_000)
      .default(1_000)
      .describe('Calls that wait for one service at the same time.'),
    MAX_WRITES_PER_USER: integer(1, 100_000)
      .default(4)
      .describe('Writes of one user that run at the same time.'),
    MAX_READS_PER_USER: integer(1, 100_000)
      .default(8)
      .describe(
        'Reads of one user that run at the same time; of pages that could be large, fewer.',
      ),
    MAX_STREAMS: integer(0, 1_000_000)
      .default(4_000)
      .describe(
        'Streams of changes at the same time, of about 30 kB of memory each; their connections are apart from `MAX_CONNECTIONS`.',
      ),
  })
  .superRefine((config, context) => {
    for (const [path, message] of answersTooLarge(config))
      context.addIssue({ code: 'custom', path: [path], message });
    try {
      trustedIssuers(config);
    } catch (error) {
      const [, variable, message] = /^(\w+): (.*)$/s.exec((error as Error).message) ?? [];
      context.addIssue({ code: 'custom', path: [variable ?? 'AUTH_ISSUER'], message });
    }
  });
export type GatewayConfig = z.output<typeof gatewayConfig>;

/** Maximum bytes of an episode in an answer: texts without escapes, names, times and statuses. */
export const episodeBytes = 2 * textLimits.url + textLimits.episodeGuid + textLimits.title + 1_024;
/** Bytes that the verdict on a subscription adds to its URL. */
export const subscribedBytes = 400;

/** Returns the limits that could exceed the maximum answer, with messages. */
function answersTooLarge(
  config: Record<AnswerLimit | 'MAX_ANSWER_BYTES' | 'MAX_BODY_BYTES', number>,
): [AnswerLimit, string][] {
  const {
    MAX_PER_PAGE,
    MAX_EPISODE_ENTRIES,
    MAX_SUBSCRIPTION_ENTRIES,
    MAX_BODY_BYTES,
    MAX_ANSWER_BYTES,
  } = config;
  const largest: [AnswerLimit, number][] = [
    ['MAX_PER_PAGE', MAX_PER_PAGE * episodeBytes],
    ['MAX_EPISODE_ENTRIES', MAX_EPISODE_ENTRIES * episodeBytes],
    ['MAX_SUBSCRIPTION_ENTRIES', MAX_SUBSCRIPTION_ENTRIES * subscribedBytes + MAX_BODY_BYTES],
  ];
  return largest
    .filter(([, bytes]) => bytes > MAX_ANSWER_BYTES)
    .map(([name, bytes]) => [
      name,
      `could make an answer of ${bytes} bytes; MAX_ANSWER_BYTES is ${MAX_ANSWER_BYTES}`,
    ]);
}
type AnswerLimit = 'MAX_PER_PAGE' | 'MAX_EPISODE_ENTRIES' | 'MAX_SUBSCRIPTION_ENTRIES';

/** Injection token of the configuration. */
export const CONFIG = Symbol('gateway configuration');
