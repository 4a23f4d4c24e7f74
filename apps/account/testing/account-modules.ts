import { once } from 'node:events';
import { Global, type INestApplicationContext, Module, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { createPool, Database } from '#database';
import { createDataSource } from '#database/typeorm';
import { revocationStreams } from '#identity';
import { connectRedis, redisConfig } from '#redis';
import { createLog } from '#runtime';
import { StreamClient } from '#transport';
import type { Cluster, Redis } from 'ioredis';
import { DataSource } from 'typeorm';
import { CONFIG, LOG, REDIS } from '../src/account.config.js';
import { ERROR_PAGE } from '../src/issuer/provider-options.js';
import { issuerErrorPage } from '../src/pages/failure.filter.js';

/** Running modules of the account app with their connections. */
export interface AccountModules {
  readonly app: INestApplicationContext;
  readonly dataSource: DataSource;
  readonly redis: Redis | Cluster;
  close(): Promise<void>;
}

/**
 * Starts modules of the account app with new connections.
 *
 * @param servers URLs, and the timeout of a Redis command in milliseconds.
 */
export async function startModules(
  config: object,
  servers: { databaseUrl: string; redisUrl: string; commandTimeout: number },
  modules: Type[],
): Promise<AccountModules> {
  const log = createLog('account', 'silent');
  const database = new Database(createPool({ url: servers.databaseUrl }));
  await database.availability.check();
  const connection = redisConfig.parse({ REDIS_URL: servers.redisUrl });
  const redis = connectRedis(connection, { commandTimeout: servers.commandTimeout });
  if (redis.status !== 'ready') await once(redis, 'ready');
  redis.on('error', () => {});
  const client = new StreamClient({ connect: () => connectRedis(connection), log });
  void client.connect().catch(() => {});
  const foundation = [
    { provide: CONFIG, useValue: config },
    { provide: LOG, useValue: log },
    { provide: REDIS, useValue: redis },
    { provide: ERROR_PAGE, useValue: issuerErrorPage },
    { provide: Database, useValue: database },
    { provide: StreamClient, useValue: client },
  ];
  const imports = [
    { module: Foundation, providers: foundation, exports: foundation },
    TypeOrmModule.forRootAsync({
      useFactory: () => ({}),
      dataSourceFactory: async () => createDataSource(database.pool),
    }),
    ...modules,
  ];
  const app = await NestFactory.createApplicationContext(
    { module: TestModule, imports },
    { logger: false, abortOnError: false },
  );
  return {
    app,
    dataSource: app.get(DataSource),
    redis,
    close: async () => {
      await app.close();
      database.availability.close();
      await client.close();
      redis.disconnect();
    },
  };
}

/** Returns all revocations as `kind:id`. */
export async function readRevocations(redis: Redis | Cluster): Promise<string[]> {
  const streams = Object.values(revocationStreams).map((stream) => redis.xrange(stream, '-', '+'));
  return (await Promise.all(streams)).flat().map(([, fields]) => `${fields[1]}:${fields[3]}`);
}

@Global()
@Module({})
class Foundation {}

@Module({})
class TestModule {}
