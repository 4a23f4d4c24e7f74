import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { startRedis } from '#embedded';
import { appEnvironment } from './app-environment.js';
import { AppProcess, type App } from './app-process.js';
import { roleUrls } from './migrated-database.js';
import { copyDatabase } from './test-database.js';
import { TokenIssuer } from './token-issuer.js';

/** The running system that the test files of a run share. */
export interface SharedSystem {
  readonly databaseUrl: string;
  readonly redisUrl: string;
  /** Folder with the token signing keys. */
  readonly keys: string;
  /** Values that each app reported when it was ready, such as its ports. */
  readonly facts: Readonly<Record<App, Readonly<Record<string, unknown>>>>;
}

const serviceApps = ['subscription', 'episode', 'deletion-worker', 'account', 'feed'] as const;
const edgeApps = ['gateway', 'gpodder'] as const;

/**
 * Starts one process of each app, with the usual settings, on a separate database and Redis. Each
 * test file uses its own users. A file that needs other settings or faults opens its own stack.
 */
export async function startSharedSystem(options: {
  readonly directory: string;
  readonly programs: string;
  readonly templateUrl: string;
}): Promise<{ readonly system: SharedSystem; stop(): Promise<void> }> {
  const { directory, programs, templateUrl } = options;
  const keys = join(directory, 'keys');
  mkdirSync(keys, { recursive: true });
  const [databaseUrl, redis, { keySetFile }] = await Promise.all([
    copyDatabase(templateUrl, 'shared_system'),
    startRedis({ directory: join(directory, 'system-redis'), programs, durable: false }),
    TokenIssuer.open(keys),
  ]);
  const servers = {
    urls: roleUrls(databaseUrl),
    redisUrl: redis.url,
    queueRedisUrl: redis.url,
    keys,
    keySetFile,
  };
  const processes: AppProcess[] = [];
  const startApp = async (app: App) =>
    void processes.push(
      await AppProcess.start(app, {
        LOG_LEVEL: 'info',
        OPS_PORT: '0',
        FEEDS: 'pushed',
        ...appEnvironment(app, servers),
      }),
    );
  const stop = async () => {
    await Promise.all(processes.map((process) => process.kill()));
    await redis.stop();
  };
  try {
    for (const group of [serviceApps, edgeApps]) await Promise.all(group.map(startApp));
  } catch (error) {
    await stop();
    throw error;
  }
  const facts = Object.fromEntries(
    processes.map(({ app, facts: appFacts }) => [app, appFacts]),
  ) as SharedSystem['facts'];
  return { system: { databaseUrl, redisUrl: redis.url, keys, facts }, stop };
}
