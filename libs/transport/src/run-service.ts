import { setTimeout as delay } from 'node:timers/promises';
import { type DynamicModule, type INestMicroservice, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { Service } from '#contracts';
import {
  type Database,
  databaseConfig,
  DatabaseModule,
  openDatabase,
  registerPoolMetrics,
} from '#database';
import { ClockNotifier, connectRedis, redisConfig, type RedisConfig } from '#redis';
import {
  commonConfig,
  LastState,
  registerCounterByLabel,
  integer,
  type Log,
  nestLogger,
  opsConfig,
  type OpsRoutes,
  runApp,
  tracingConfig,
  type WaitFor,
} from '#runtime';
import { z } from 'zod';
import { StreamServer } from './server/stream-server.js';
import { handlerMetrics, watchReplica } from './transport.metrics.js';
import { traceHandlers } from './transport-tracing.js';

/** Configuration variables of every service. Each service adds its own. */
export const serviceConfig = z.object({
  ...commonConfig.shape,
  ...opsConfig.shape,
  ...tracingConfig.shape,
  ...databaseConfig.shape,
  ...redisConfig.shape,
  MAX_IN_FLIGHT: integer(1, 10_000)
    .default(32)
    .describe(
      'Maximum concurrent requests of one replica. Further requests wait or run on other replicas.',
    ),
});
export type ServiceConfig = z.output<typeof serviceConfig>;

/**
 * Runs a replica of a service as a process.
 * - It reads no request and sends no heartbeat before Postgres answers and has every migration.
 * - While Postgres is unavailable it leaves requests to other replicas, and resumes automatically.
 * - When it stops, it answers its running requests before it closes the connections to Postgres.
 *
 * @param module creates the service's module.
 * @param opsRoutes creates the service's own routes on the ops port, after the app has started. Not
 *   called without `OPS_PORT`.
 */
export function runService<Schema extends z.ZodObject>(
  app: string,
  service: Service,
  schema: Schema,
  module: (config: z.output<Schema>, log: Log) => DynamicModule,
  opsRoutes?: (app: INestMicroservice, config: z.output<Schema>) => Promise<OpsRoutes | undefined>,
): Promise<void> {
  return runApp(app, schema, async (values, log, waitFor) => {
    const config = values as ServiceConfig;
    const database = await waitForDatabase(app, config, log, waitFor);
    const notifier = new ClockNotifier(connectRedis(config), log);
    database.onClock((userId, stamp) => notifier.notify(userId, stamp));
    registerCounterByLabel(
      'podcast_sync_change_notifications_total',
      'Change notifications after commits: `sent` to Redis, or `dropped` without it.',
      'outcome',
      () => notifier.counts,
    );
    const strategy = openReplica(service, config, database, log);
    const imports = [DatabaseModule.forRoot(database), module(values, log)];
    const rootModule: DynamicModule = { module: ServiceModule, imports };
    const nest = await NestFactory.createMicroservice(rootModule, {
      strategy,
      logger: nestLogger(log),
    });
    await nest.listen();
    return {
      missing: async () => [
        ...(strategy.isUp ? [] : ['Redis: reconnecting']),
        // Reports the last result while statements use every connection, because a check would
        // have to wait for one.
        ...(database.isPoolBusy
          ? database.availability.problems
          : await database.availability.check()),
      ],
      opsRoutes: config.OPS_PORT === undefined ? undefined : await opsRoutes?.(nest, values),
      stop: async () => {
        await nest.close();
        await database.close();
        notifier.close();
        log.info({ handledRequests: strategy.counters?.handledRequests }, 'service stopped');
      },
    };
  });
}

/**
 * Creates the replica of a service, with its traces and metrics. It leaves requests to other
 * replicas while Postgres is unavailable.
 */
export function openReplica(
  service: Service,
  config: RedisConfig & Pick<ServiceConfig, 'MAX_IN_FLIGHT'>,
  database: Database,
  log: Log,
): StreamServer {
  const strategy = new StreamServer({
    service,
    connect: () => connectRedis(config),
    log,
    maxInFlight: config.MAX_IN_FLIGHT,
    onHandled: handlerMetrics(),
  });
  traceHandlers(strategy);
  watchReplica(() => strategy.counters);
  registerPoolMetrics(() => database.connections);
  const { availability } = database;
  availability.onChange((isAvailable) => {
    if (isAvailable) log.info({ outage }, 'Postgres available again: replica takes requests');
    else
      log.warn(
        { outage, problems: availability.problems },
        'Postgres unavailable or migrations missing: replica takes no requests',
      );
    strategy.setServing(isAvailable);
  });
  strategy.setServing(availability.isAvailable);
  return strategy;
}

/** Pause between two checks of Postgres at the start, in milliseconds. */
const retryMs = 1_000;

/** Value of the log field `outage` in the lines about the start and end of an outage. */
const outage = 'Postgres';

/** Opens the database and waits, without a time limit, until it has every migration. */
export async function waitForDatabase(
  app: string,
  config: Parameters<typeof openDatabase>[0],
  log: Log,
  waitFor: WaitFor,
): Promise<Database> {
  const database = openDatabase(config, app);
  const { availability } = database;
  waitFor(() => availability.check());
  const lastProblems = new LastState<string>('');
  for (;;) {
    const problems = await availability.check();
    if (problems.length === 0) break;
    const isFirst = lastProblems.state === '';
    // Logs the list again only if it changes, because operators correct one item after the other.
    if (lastProblems.changeTo(problems.join('; ')))
      log.warn(
        { ...(isFirst && { outage }), problems },
        'service not started: waiting for Postgres and its migrations',
      );
    await delay(retryMs);
  }
  if (lastProblems.state !== '')
    log.info({ outage }, 'Postgres available with all migrations: service starts');
  return database;
}

@Module({})
class ServiceModule {}
