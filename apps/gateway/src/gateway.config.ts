import { defaultAnswerBytes, textLimits } from '#contracts';
import { commonConfig, opsConfig, redisConfig, tracingConfig } from '#runtime';
import { z } from 'zod';
import { trustedIssuers } from './auth/trusted.issuers.js';

const integer = (least: number, most: number) => z.coerce.number().int().min(least).max(most);

/** Values separated by commas. */
const list = z.string().transform((text) => text.split(',').map((value) => value.trim()));

/** `requests/seconds`, e.g. 600/60. */
const rateLimit = z
  .string()
  .regex(/^[1-9]\d{0,8}\/[1-9]\d{0,5}$/, 'must look like 600/60: requests/seconds')
  .transform((limit) => limit.split('/').map(Number) as [number, number])
  .transform(([quota, seconds]) => ({ quota, seconds }))
  .optional();

/** An address, or all that share so many leading bits. */
const network = z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()], { error: 'must be addresses or address/bits' });

/** A URL without the slashes at its end. */
function withoutSlashes(url: string): string {
  return url.endsWith('/') ? withoutSlashes(url.slice(0, -1)) : url;
}

/** The configuration of the gateway. */
export const gatewayConfig = z
  .object({
    ...commonConfig.shape,
    ...opsConfig.shape,
    ...tracingConfig.shape,
    ...redisConfig.shape,
    HOST: z.string().default('127.0.0.1').describe('Address to listen on.'),
    PORT: integer(0, 65_535).default(3000).describe('Port to listen on; 0 for any free one.'),
    PUBLIC_URL: z
      .url({ protocol: /^https?$/ })
      .transform(withoutSlashes)
      .optional()
      .describe('Base of the links in pages. Not set: as the request was addressed.'),
    AUTH_ISSUER: list
      .pipe(z.array(z.string().min(1)))
      .describe('The `iss` that tokens must carry; `iss,…` for several issuers.'),
    AUTH_AUDIENCE: z.string().min(1).describe('The `aud` that tokens must carry.'),
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
    AUTH_OWN_ISSUER: z
      .string()
      .default('urn:podcast-sync:standalone')
      .describe('Under this issuer a subject that is a UUID is the user id itself.'),
    AUTH_ISSUER_ALIASES: z
      .string()
      .regex(/^[^=,]+=[^=,]+(,[^=,]+=[^=,]+)*$/, 'must look like new-issuer=first-issuer,…')
      .optional()
      .describe('Issuers under a new name: `new=first,…`, so that users stay who they are when a provider moves.'),
    CORS_ORIGINS: list
      .pipe(z.array(z.url({ protocol: /^https?$/ })))
      .optional()
      .describe('Web origins that may call: `https://app.example,…`. Not set: none.'),
    TRUSTED_PROXIES: list
      .pipe(z.array(network))
      .optional()
      .describe(
        'Proxies whose `X-Forwarded-*` headers say who asks and by which URL: `address,address/bits,…`. Not set: none.',
      ),
    RATE_LIMIT_PER_USER: rateLimit.describe('Requests of one user, as `requests/seconds`. Not set: no limit.'),
    RATE_LIMIT_PER_ADDRESS: rateLimit.describe(
      'Requests from one address (of IPv6, one /64), as `requests/seconds`. Not set: no limit.',
    ),
    MAX_CONNECTIONS: integer(1, 1_000_000).default(10_000).describe('Connections at the same time; others are closed.'),
    MAX_HEADER_BYTES: integer(4_096, 1_048_576).default(16_384).describe('Bytes in the head of a request.'),
    MAX_SUBSCRIPTION_ENTRIES: integer(1, 10_000).default(1_000).describe('Entries in one batch of subscriptions.'),
    MAX_EPISODE_ENTRIES: integer(1, 10_000).default(250).describe('Entries in one batch of episodes.'),
    MAX_BODY_BYTES: integer(1_024, 67_108_864).default(2_097_152).describe('Bytes in one request body.'),
    MAX_PER_PAGE: integer(1, 10_000).default(250).describe('Rows on one page.'),
    // At most what the transport carries in one reply.
    MAX_ANSWER_BYTES: integer(131_072, 8_000_000)
      .default(defaultAnswerBytes)
      .describe('Bytes in one answer: a start whose other limits could pass it is refused.'),
    MAX_HELD_BYTES: integer(4_194_304, 17_179_869_184)
      .default(67_108_864)
      .describe(
        'Bytes of bodies that wait and answers that leave, of all users; one user has a quarter. Bodies weigh threefold.',
      ),
    DRAIN_SECONDS: integer(0, 60)
      .default(0)
      .describe('How long a stopping gateway still serves, unready, until balancers have learnt of it.'),
    MAX_CALLS: integer(1, 100_000)
      .default(1_000)
      .describe(
        'Requests that wait for one service at the same time; also writes of all users that wait for their turn.',
      ),
    MAX_WRITES_PER_USER: integer(1, 100_000).default(4).describe('Writes of one user that run at the same time.'),
    MAX_READS_PER_USER: integer(1, 100_000)
      .default(8)
      .describe('Reads of one user that run at the same time; of pages that could be large, fewer.'),
  })
  .superRefine((config, context) => {
    for (const [path, message] of answersTooLarge(config)) context.addIssue({ code: 'custom', path: [path], message });
    try {
      trustedIssuers(config);
    } catch (error) {
      const [, variable, message] = /^(\w+): (.*)$/s.exec((error as Error).message) ?? [];
      context.addIssue({ code: 'custom', path: [variable ?? 'AUTH_ISSUER'], message });
    }
  });
export type GatewayConfig = z.output<typeof gatewayConfig>;

/** Bytes of the largest episode in an answer, escapes aside: its texts at their limits; names, times and statuses. */
export const episodeBytes = 2 * textLimits.url + textLimits.episodeGuid + textLimits.title + 1_024;
/** Bytes that the verdict on a subscription adds to its URL, which came with the request. */
const subscribedBytes = 400;

/** Which limits could make an answer larger than it may be. */
function answersTooLarge(
  config: Record<AnswerLimit | 'MAX_ANSWER_BYTES' | 'MAX_BODY_BYTES', number>,
): [AnswerLimit, string][] {
  const { MAX_PER_PAGE, MAX_EPISODE_ENTRIES, MAX_SUBSCRIPTION_ENTRIES, MAX_BODY_BYTES, MAX_ANSWER_BYTES } = config;
  const largest: [AnswerLimit, number][] = [
    ['MAX_PER_PAGE', MAX_PER_PAGE * episodeBytes],
    ['MAX_EPISODE_ENTRIES', MAX_EPISODE_ENTRIES * episodeBytes],
    ['MAX_SUBSCRIPTION_ENTRIES', MAX_SUBSCRIPTION_ENTRIES * subscribedBytes + MAX_BODY_BYTES],
  ];
  return largest
    .filter(([, bytes]) => bytes > MAX_ANSWER_BYTES)
    .map(([name, bytes]) => [name, `could make an answer of ${bytes} bytes; MAX_ANSWER_BYTES is ${MAX_ANSWER_BYTES}`]);
}
type AnswerLimit = 'MAX_PER_PAGE' | 'MAX_EPISODE_ENTRIES' | 'MAX_SUBSCRIPTION_ENTRIES';

/** The configuration as a token for injection. */
export const CONFIG = Symbol('gateway configuration');
