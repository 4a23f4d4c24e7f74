import { fileURLToPath } from 'node:url';

/** Returns the path of a built file of an app. */
const builtProgram = (path) => fileURLToPath(new URL(`../dist/apps/${path}`, import.meta.url));

/** Matches variables that the images set, or that the chart sets from other values. */
const managedVariables = new RegExp(
  `^(${[
    'NODE_ENV|HOST|OPS_HOST|OPS_PORT|VERSION',
    'PORT|DRAIN_SECONDS|LOG_LEVEL|DATABASE_URL|DATABASE_POOL_SIZE|OTEL_.*|(SUBSCRIPTION|EPISODE|DELETION|DUMP|ACCOUNT|FEED)_DATABASE_URL',
    '(QUEUE_|EVENTS_)?REDIS_.*|EVENTS',
    'SECRETS_KEY|SESSION_KEY|CURSOR_KEY|KEYS_DIRECTORY|FEEDS|FEEDS_ROLE',
  ].join('|')})$`,
);
const secretVariables = /(PASSWORD|SECRET|TOKEN|SMTP_URL)$/;

/**
 * Returns JSON Schemas of the variables that an operator can set by `env` in the chart's values, by
 * app. `common` has those of all apps. Variables of the images and of other values are excluded. Of
 * a secret only its file variable is included.
 */
export async function variablesOf() {
  const configs = {
    gateway: (await import(builtProgram('gateway/src/gateway.config.js'))).gatewayConfig,
    gpodder: (await import(builtProgram('gpodder/src/gpodder.config.js'))).gpodderConfig,
    subscription: (await import(builtProgram('subscription/src/subscription.config.js')))
      .subscriptionConfig,
    episode: (await import(builtProgram('episode/src/episode.config.js'))).episodeConfig,
    'deletion-worker': (await import(builtProgram('deletion-worker/src/deletion-worker.config.js')))
      .deletionWorkerConfig,
    feed: (await import(builtProgram('feed/src/feed.config.js'))).feedConfig,
    account: (await import(builtProgram('account/src/account.config.js'))).accountConfig,
    migrate: (await import(builtProgram('migrate/src/migrate.config.js'))).migrateConfig,
  };
  const { LOG_LEVEL } = configs.migrate.shape;
  const own = Object.entries(configs).map(([app, { shape }]) => [app, schemaProperties(shape)]);
  return {
    common: { LOG_LEVEL: { enum: LOG_LEVEL.unwrap().options, description: LOG_LEVEL.description } },
    ...Object.fromEntries(own),
  };
}

function schemaProperties(shape) {
  const free = Object.entries(shape).filter(([name]) => !managedVariables.test(name));
  return Object.fromEntries(
    free.map(([name, { description }]) =>
      secretVariables.test(name)
        ? [`${name}_FILE`, { type: 'string', pattern: '^/run/secrets/podcast-sync/', description }]
        : [name, { type: 'string', description }],
    ),
  );
}
