import { defaultAnswerBytes, feedsMode, textLimits } from '#contracts';
import { callConfig, httpConfig } from '#http';
import { identityConfig } from '#identity';
import { redisConfig } from '#redis';
import { commaList as list, commonConfig, integer, opsConfig, tracingConfig } from '#runtime';
import { z } from 'zod';
import { trustedIssuers } from './auth/trusted-issuers.js';

export const gatewayConfig = z
  .object({
    ...commonConfig.shape,
    ...opsConfig.shape,
    ...tracingConfig.shape,
    ...redisConfig.shape,
    ...httpConfig.shape,
    AUTH_ISSUER: list
      .pipe(z.array(z.string().min(1)))
      .describe('Required `iss` of tokens; `iss,…` for several issuers.'),
    AUTH_AUDIENCE: list
      .pipe(z.array(z.string().min(1)))
      .describe('Required `aud` of tokens; `aud,…` to accept any of several.'),
    AUTH_SERVERS: list
      .pipe(z.array(z.url({ protocol: /^https?$/ })))
      .optional()
      .describe(
        'Issuers of tokens for apps, published at `/.well-known/oauth-protected-resource`: ' +
          '`issuer,…`. Not set: the issuers of `AUTH_ISSUER` that are URLs.',
      ),
    AUTH_APP_PASSWORDS: z
      .enum(['on', 'off'])
      .default('off')
      .describe('`on` accepts app passwords (`pst_…`) of the account service.'),
    AUTH_JWKS_URL: z
      .string()
      .optional()
      .describe(
        'URL of the key set of the first issuer, or `iss=URL,…`. OpenID Connect discovery finds ' +
          'the key set of an issuer without URL and file.',
      ),
    AUTH_JWKS_FILE: z
      .string()
      .optional()
      .describe(
        'File with the key set of the first issuer, or `iss=file,…`; read again after changes, ' +
          'served at `/.well-known/jwks.json`.',
      ),
    AUTH_DEVELOPMENT_KEYS: z
      .enum(['allow', 'refuse'])
      .optional()
      .describe(
        '`allow` accepts development keys (`kid` starts with `dev-`) in a file. Not set: they ' +
          'are rejected if `NODE_ENV` is `production`.',
      ),
    NODE_ENV: z
      .string()
      .optional()
      .describe('`production` rejects development keys unless `AUTH_DEVELOPMENT_KEYS` is `allow`.'),
    ...identityConfig.shape,
    CORS_ORIGINS: list
      .pipe(z.array(z.url({ protocol: /^https?$/ })))
      .optional()
      .describe('Allowed web origins: `https://app.example,…`. Not set: none.'),
    CURSOR_KEY: z
      .string()
      .min(32)
      .optional()
      .describe(
        'Key that encrypts the cursors of links: at least 32 random characters, the same for all ' +
          'replicas. After a change, cursors of older links are ignored. Not set: a public key ' +
          'in the source code, with which anybody can decrypt row ids.',
      ),
    FEEDS: feedsMode
      .default('off')
      .describe('Whether `/feeds` exists, with titles and episodes. Needs the feed service.'),
    ...callConfig.shape,
    MAX_SUBSCRIPTION_ENTRIES: integer(1, 10_000)
      .default(1_000)
      .describe('Maximum entries in one batch of subscriptions.'),
    MAX_EPISODE_ENTRIES: integer(1, 10_000)
      .default(250)
      .describe('Maximum entries in one batch of episodes.'),
    MAX_PER_PAGE: integer(1, 10_000).default(250).describe('Maximum rows on one page.'),
    // The maximum is the largest reply that a service can send (`defaultMaxReplyBytes`).
    MAX_ANSWER_BYTES: integer(131_072, 8_000_000)
      .default(defaultAnswerBytes)
      .describe(
        'Maximum bytes of one answer. The gateway does not start if other limits could exceed it.',
      ),
    MAX_STREAMS: integer(0, 1_000_000)
      .default(4_000)
      .describe(
        'Maximum concurrent streams of changes, of about 30 kB of memory each; they do not count ' +
          'towards `MAX_CONNECTIONS`.',
      ),
  })
  .superRefine((config, context) => {
    for (const [path, message] of findTooLargeAnswers(config))
      context.addIssue({ code: 'custom', path: [path], message });
    try {
      trustedIssuers(config);
    } catch (error) {
      const [, variable, message] = /^(\w+): (.*)$/s.exec((error as Error).message) ?? [];
      context.addIssue({ code: 'custom', path: [variable ?? 'AUTH_ISSUER'], message });
    }
  });
export type GatewayConfig = z.output<typeof gatewayConfig>;

/** Maximum bytes of an episode in an answer, if its texts need no JSON escapes. */
export const episodeBytes = 2 * textLimits.url + textLimits.episodeGuid + textLimits.title + 1_024;
/** Maximum bytes of one entry in the answer of `POST /subscriptions`, without its URL. */
export const subscribeResultBytes = 400;

/** Returns the variables that allow an answer above `MAX_ANSWER_BYTES`, each with a message. */
function findTooLargeAnswers(
  config: Record<AnswerLimit | 'MAX_ANSWER_BYTES' | 'MAX_BODY_BYTES', number>,
): [AnswerLimit, string][] {
  const {
    MAX_PER_PAGE,
    MAX_EPISODE_ENTRIES,
    MAX_SUBSCRIPTION_ENTRIES,
    MAX_BODY_BYTES,
    MAX_ANSWER_BYTES,
  } = config;
  const largestAnswers: [AnswerLimit, number][] = [
    ['MAX_PER_PAGE', MAX_PER_PAGE * episodeBytes],
    ['MAX_EPISODE_ENTRIES', MAX_EPISODE_ENTRIES * episodeBytes],
    ['MAX_SUBSCRIPTION_ENTRIES', MAX_SUBSCRIPTION_ENTRIES * subscribeResultBytes + MAX_BODY_BYTES],
  ];
  return largestAnswers
    .filter(([, bytes]) => bytes > MAX_ANSWER_BYTES)
    .map(([name, bytes]) => [
      name,
      `allows an answer of ${bytes} bytes, more than MAX_ANSWER_BYTES (${MAX_ANSWER_BYTES})`,
    ]);
}
/** Variables that limit the size of an answer. */
type AnswerLimit = 'MAX_PER_PAGE' | 'MAX_EPISODE_ENTRIES' | 'MAX_SUBSCRIPTION_ENTRIES';

/** Injection token of the gateway's configuration. */
export const CONFIG = Symbol('gateway configuration');
