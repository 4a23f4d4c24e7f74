import { commaList, integer } from '#runtime';
import { z } from 'zod';

/** Schema of a rate limit: `requests/seconds`, e.g. 600/60; undefined for no limit. */
const rateLimitSchema = z
  .string()
  .regex(/^[1-9]\d{0,8}\/[1-9]\d{0,5}$/, 'must look like 600/60: requests/seconds')
  .transform((limit) => limit.split('/').map(Number) as [number, number])
  .transform(([quota, seconds]) => ({ quota, seconds }))
  .optional();
export type RateLimit = z.output<typeof rateLimitSchema>;

const networkSchema = z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()], {
  error: 'must be addresses or address/bits',
});

function removeFinalSlashes(url: string): string {
  return url.endsWith('/') ? removeFinalSlashes(url.slice(0, -1)) : url;
}

/** Variables of every HTTP process. A process can have other defaults. */
export const httpConfig = z.object({
  HOST: z.string().default('127.0.0.1').describe('Address to listen on.'),
  PORT: integer(0, 65_535).default(3000).describe('Port to listen on; 0 for any free one.'),
  PUBLIC_URL: z
    .url({ protocol: /^https?$/ })
    .transform(removeFinalSlashes)
    .optional()
    .describe('Base URL of links. Not set: scheme and host of each request.'),
  SITE_URL: z
    .url({ protocol: /^https?$/ })
    .transform(removeFinalSlashes)
    .optional()
    .describe(
      'Base URL of the pages of accounts. The error page for browsers that open a URL of an API ' +
        'links to them. Not set: the origin of the request.',
    ),
  TRUSTED_PROXIES: commaList
    .pipe(z.array(networkSchema))
    .optional()
    .describe(
      'Proxies whose `X-Forwarded-*` headers are trusted, as `address,address/bits,…`. ' +
        'Not set: none.',
    ),
  HOST_NAMES: commaList
    .pipe(z.array(z.string().min(1)))
    .optional()
    .describe(
      'Host names of the server in addition to that of `PUBLIC_URL` and those of local ' +
        'networks, as `name,…`. A request with any other host name gets 421. If this and ' +
        '`PUBLIC_URL` are not set, all names are allowed.',
    ),
  RATE_LIMIT_PER_ADDRESS: rateLimitSchema.describe(
    'Maximum requests of one IPv4 address or IPv6 /64, as `requests/seconds`. Not set: no limit.',
  ),
  MAX_CONNECTIONS: integer(1, 1_000_000)
    .default(10_000)
    .describe('Maximum concurrent connections; further ones are closed.'),
  MAX_HEADER_BYTES: integer(4_096, 1_048_576)
    .default(16_384)
    .describe('Maximum bytes in the head of a request.'),
  MAX_BODY_BYTES: integer(1_024, 67_108_864)
    .default(2_097_152)
    .describe('Maximum bytes of one request body.'),
  MAX_HELD_BYTES: integer(4_194_304, 17_179_869_184)
    .default(67_108_864)
    .describe(
      'Maximum bytes of request bodies and answers in memory; a quarter of it per user. ' +
        'Bodies count threefold.',
    ),
  DRAIN_SECONDS: integer(0, 60)
    .default(0)
    .describe(
      'Seconds for which a stopping process still serves while `/readyz` answers 503, so that ' +
        'load balancers can stop sending requests.',
    ),
});
/** Variables of the HTTP apps that call services. */
export const callConfig = z.object({
  RATE_LIMIT_PER_USER: rateLimitSchema.describe(
    'Maximum requests of one user, as `requests/seconds`. Not set: no limit.',
  ),
  MAX_CALLS: integer(1, 100_000)
    .default(1_000)
    .describe('Maximum concurrent calls to one service.'),
  MAX_WRITES_PER_USER: integer(1, 100_000)
    .default(4)
    .describe(
      'Maximum concurrent writes of one user. Further writes wait, and get 503 if their ' +
        'deadline would pass.',
    ),
  MAX_READS_PER_USER: integer(1, 100_000)
    .default(8)
    .describe(
      'Maximum concurrent reads of one user; fewer if their answers together could exceed ' +
        '`MAX_ANSWER_BYTES`.',
    ),
});
export type HttpConfig = z.output<typeof httpConfig>;
