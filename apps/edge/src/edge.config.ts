import { httpConfig, rateLimit } from '#http';
import { redisConfig } from '#redis';
import { commaList, commonConfig, ConfigurationError, loadConfig, opsConfig, tracingConfig } from '#runtime';
import { z } from 'zod';
import { accountConfig, type AccountConfig } from '../../account/src/account.config.js';
import { type GatewayConfig, gatewayConfig } from '../../gateway/src/gateway.config.js';
import { type GpodderConfig, gpodderConfig } from '../../gpodder/src/gpodder.config.js';

/** The apps that the edge can serve. */
const names = ['gateway', 'gpodder', 'account'] as const;

/** What the edge reads itself; each app reads its own variables beside it. */
export const edgeConfig = z.object({
  ...commonConfig.shape,
  ...opsConfig.shape,
  ...tracingConfig.shape,
  ...redisConfig.shape,
  ...httpConfig.shape,
  PUBLIC_URL: accountConfig.shape.PUBLIC_URL.describe(
    'The origin under which browsers and apps reach this server, also the `iss` of its tokens.',
  ),
  RATE_LIMIT_PER_USER: rateLimit.describe('Requests of one user, as `requests/seconds`. Not set: no limit.'),
  MAX_CALLS: z.coerce
    .number()
    .int()
    .min(1)
    .max(100_000)
    .default(1_000)
    .describe('Calls that wait for one service at the same time.'),
  EDGE_APPS: commaList
    .pipe(z.array(z.enum(names)).min(1))
    .default([...names])
    .describe('The apps to serve: `gateway`, `gpodder`, `account`.'),
});
export type EdgeConfig = z.output<typeof edgeConfig>;

/** The configurations of the apps that are served. */
export interface AppConfigs {
  readonly gateway?: GatewayConfig;
  readonly gpodder?: GpodderConfig;
  readonly account?: AccountConfig;
}

/**
 * Reads the configuration of each app that is served. Beside the account app the gateway believes its tokens and its app
 * passwords, unless the environment says something else.
 *
 * @throws ConfigurationError with the problems of all apps at once.
 */
export function appConfigs({ EDGE_APPS, PUBLIC_URL }: EdgeConfig, environment = process.env): AppConfigs {
  const problems: string[] = [];
  const read = <Schema extends z.ZodObject>(
    app: (typeof names)[number],
    schema: Schema,
    defaults: Readonly<Record<string, string>> = {},
  ) => {
    if (!EDGE_APPS.includes(app)) return undefined;
    try {
      return loadConfig(schema, { ...defaults, ...environment });
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error;
      problems.push(...error.problems);
      return undefined;
    }
  };
  const account = read('account', accountConfig);
  const ours = account && {
    AUTH_ISSUER: PUBLIC_URL,
    AUTH_OWN_ISSUER: PUBLIC_URL,
    AUTH_AUDIENCE: account.API_AUDIENCE,
    AUTH_JWKS_FILE: `${PUBLIC_URL}=${account.KEYS_DIRECTORY}/jwks.json`,
    AUTH_SERVERS: PUBLIC_URL,
    AUTH_APP_PASSWORDS: 'on',
  };
  const gateway = read('gateway', gatewayConfig, ours);
  const gpodder = read('gpodder', gpodderConfig);
  if (problems.length > 0) throw new ConfigurationError([...new Set(problems)]);
  return { ...(gateway && { gateway }), ...(gpodder && { gpodder }), ...(account && { account }) };
}
