import { callConfig, httpConfig } from '#http';
import { redisConfig } from '#redis';
import {
  commonConfig,
  ConfigurationError,
  loadConfig,
  opsConfig,
  reachableUrl,
  tracingConfig,
} from '#runtime';
import { z } from 'zod';
import { accountConfig } from '../../account/src/account.config.js';
import { gatewayConfig } from '../../gateway/src/gateway.config.js';
import { gpodderConfig } from '../../gpodder/src/gpodder.config.js';

/** Schema of the edge's variables. Each app in its process also reads its own variables. */
export const edgeConfig = z
  .object({
    ...commonConfig.shape,
    ...opsConfig.shape,
    ...tracingConfig.shape,
    ...redisConfig.shape,
    ...httpConfig.omit({ MAX_BODY_BYTES: true }).shape,
    PUBLIC_URL: accountConfig.shape.PUBLIC_URL.optional().describe(
      'Origin of this server for browsers and apps, and the `iss` of its tokens. Not set: the ' +
        'URL of the address that the server listens on; links have the host of each request.',
    ),
    ...callConfig.pick({ RATE_LIMIT_PER_USER: true, MAX_CALLS: true }).shape,
  })
  .describe(
    'The edge also reads the variables of gateway, gpodder and account. `MAX_BODY_BYTES` applies ' +
      'to gateway and gpodder, not to account. The edge sets `PUBLIC_URL`, `AUTH_ISSUER`, ' +
      '`AUTH_OWN_ISSUER`, `AUTH_AUDIENCE`, `AUTH_JWKS_FILE`, `AUTH_SERVERS`, ' +
      '`AUTH_APP_PASSWORDS` and `CURSOR_KEY` (the value of `SESSION_KEY`) unless they are set.',
  );
/** Parsed variables of the edge. */
export type EdgeConfig = z.output<typeof edgeConfig>;

/** Unsets `MAX_BODY_BYTES` for the account app, because that app accepts only smaller values. */
const accountOverrides = { MAX_BODY_BYTES: '', MAX_BODY_BYTES_FILE: '' };

/**
 * Reads the configuration of each app in the edge.
 * - By default the gateway accepts the tokens and app passwords of the account app, and encrypts
 *   its cursors with the `SESSION_KEY` of the gpodder app.
 * - `MAX_BODY_BYTES` applies to gateway and gpodder.
 *
 * @throws ConfigurationError with the problems of all apps.
 */
export function appConfigs(
  { PUBLIC_URL, HOST, PORT, HOST_NAMES }: EdgeConfig,
  environment = process.env,
) {
  const origin = PUBLIC_URL ?? reachableUrl(HOST, PORT);
  const hostNames = { HOST_NAMES: [new URL(origin).hostname, ...(HOST_NAMES ?? [])].join() };
  const problems: string[] = [];
  const readConfig = <Schema extends z.ZodObject>(
    schema: Schema,
    defaults: Readonly<Record<string, string>> = {},
    overrides: Readonly<Record<string, string>> = {},
  ) => {
    try {
      const appliedDefaults = Object.entries(defaults).filter(
        ([name]) => !environment[name] && !environment[`${name}_FILE`],
      );
      return loadConfig(schema, {
        ...environment,
        ...Object.fromEntries(appliedDefaults),
        ...hostNames,
        ...overrides,
      });
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error;
      problems.push(...error.problems);
      return undefined;
    }
  };
  const account = readConfig(accountConfig, { PUBLIC_URL: origin }, accountOverrides);
  const gpodder = readConfig(gpodderConfig);
  const gatewayDefaults = account &&
    gpodder && {
      AUTH_ISSUER: origin,
      AUTH_OWN_ISSUER: origin,
      AUTH_AUDIENCE: account.API_AUDIENCE,
      AUTH_JWKS_FILE: `${origin}=${account.KEYS_DIRECTORY}/jwks.json`,
      AUTH_SERVERS: origin,
      AUTH_APP_PASSWORDS: 'on',
      CURSOR_KEY: gpodder.SESSION_KEY,
    };
  // Without these defaults, the gateway would report variables that the operator need not set.
  const gateway = gatewayDefaults && readConfig(gatewayConfig, gatewayDefaults);
  if (!account || !gateway || !gpodder) throw new ConfigurationError([...new Set(problems)]);
  return { gateway, gpodder, account };
}
