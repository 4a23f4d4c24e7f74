import { httpConfig, rateLimit } from '#http';
import { redisConfig } from '#redis';
import {
  commaList,
  commonConfig,
  ConfigurationError,
  loadConfig,
  opsConfig,
  reachableUrl,
  tracingConfig,
} from '#runtime';
import { z } from 'zod';
import { accountConfig, type AccountConfig } from '../../account/src/account.config.js';
import { type GatewayConfig, gatewayConfig } from '../../gateway/src/gateway.config.js';
import { type GpodderConfig, gpodderConfig } from '../../gpodder/src/gpodder.config.js';

const names = ['gateway', 'gpodder', 'account'] as const;

/** Variables of the edge. Each app also reads its own. */
export const edgeConfig = z.object({
  ...commonConfig.shape,
  ...opsConfig.shape,
  ...tracingConfig.shape,
  ...redisConfig.shape,
  ...httpConfig.shape,
  PUBLIC_URL: accountConfig.shape.PUBLIC_URL.optional().describe(
    'Origin of this server for browsers and apps, and the `iss` of its tokens. Not set: the ' +
      'address that it listens on; links have the host of each request.',
  ),
  RATE_LIMIT_PER_USER: rateLimit.describe(
    'Maximum requests of one user, as `requests/seconds`. Not set: no limit.',
  ),
  MAX_CALLS: z.coerce
    .number()
    .int()
    .min(1)
    .max(100_000)
    .default(1_000)
    .describe('Maximum concurrent calls to one service.'),
  EDGE_APPS: commaList
    .pipe(z.array(z.enum(names)).min(1))
    .default([...names])
    .describe('The apps to serve: `gateway`, `gpodder`, `account`.'),
});
export type EdgeConfig = z.output<typeof edgeConfig>;

export interface AppConfigs {
  readonly gateway?: GatewayConfig;
  readonly gpodder?: GpodderConfig;
  readonly account?: AccountConfig;
}

/**
 * Reads the configuration of each served app. If the account app is served, the gateway accepts its
 * tokens and app passwords by default.
 *
 * @throws ConfigurationError with the problems of all apps.
 */
export function appConfigs(
  { EDGE_APPS, PUBLIC_URL, HOST, PORT, HOST_NAMES }: EdgeConfig,
  environment = process.env,
): AppConfigs {
  const origin = PUBLIC_URL ?? reachableUrl(HOST, PORT);
  const hostNames = { HOST_NAMES: [new URL(origin).hostname, ...(HOST_NAMES ?? [])].join() };
  const problems: string[] = [];
  const read = <Schema extends z.ZodObject>(
    app: (typeof names)[number],
    schema: Schema,
    defaults: Readonly<Record<string, string>> = {},
  ) => {
    if (!EDGE_APPS.includes(app)) return undefined;
    try {
      const unset = Object.entries(defaults).filter(
        ([name]) => !environment[name] && !environment[`${name}_FILE`],
      );
      return loadConfig(schema, { ...environment, ...Object.fromEntries(unset), ...hostNames });
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error;
      problems.push(...error.problems);
      return undefined;
    }
  };
  const account = read('account', accountConfig, { PUBLIC_URL: origin });
  const ours = account && {
    AUTH_ISSUER: origin,
    AUTH_OWN_ISSUER: origin,
    AUTH_AUDIENCE: account.API_AUDIENCE,
    AUTH_JWKS_FILE: `${origin}=${account.KEYS_DIRECTORY}/jwks.json`,
    AUTH_SERVERS: origin,
    AUTH_APP_PASSWORDS: 'on',
  };
  const gateway = read('gateway', gatewayConfig, ours);
  const gpodder = read('gpodder', gpodderConfig);
  if (problems.length > 0) throw new ConfigurationError([...new Set(problems)]);
  return { ...(gateway && { gateway }), ...(gpodder && { gpodder }), ...(account && { account }) };
}
