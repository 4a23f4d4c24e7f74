import { type DynamicModule, Global, type INestApplicationContext, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { createDatabase, startRedisServer, type TestServer } from '#testing';
import { createDataSource } from '#database';
import { revocationStreams } from '#identity';
import { connectRedis, redisConfig } from '#redis';
import { createLog } from '#runtime';
import { StreamClient } from '#transport';
import pg from 'pg';
import type { EntityManager } from 'typeorm';
import { CONFIG, LOG, REDIS } from '../src/account.config.js';
import { CredentialsModule } from '../src/credentials/credentials.module.js';
import { GpodderModule } from '../src/gpodder/gpodder.module.js';
import type { PeopleConfig } from '../src/people/people.config.js';
import { PeopleModule } from '../src/people/people.module.js';

/** People and their credentials on a database and a Redis of their own, as a replica has them. */
export interface PeopleWorld {
  readonly app: INestApplicationContext;
  /** May look at and prepare everything. */
  readonly owner: pg.Client;
  readonly redis: TestServer;
  /** As the account app connects. */
  readonly url: string;
  /** Runs statements in a transaction, as the account app. */
  transaction<Result>(run: (manager: EntityManager) => Promise<Result>): Promise<Result>;
  /** What was revoked so far, as `kind:id`. */
  revoked(): Promise<string[]>;
  close(): Promise<void>;
}

const defaults: PeopleConfig = {
  PUBLIC_URL: 'https://accounts.example',
  REGISTRATION: 'invite',
  SECRETS_KEY: 'a-secret-of-tests-which-is-long-enough',
  SMTP_URL: undefined,
  MAIL_FROM: undefined,
};

/** To be called in `beforeAll`; only in the `int` tier. */
export async function openPeople(settings: Partial<PeopleConfig> = {}): Promise<PeopleWorld> {
  const [database, server] = await Promise.all([createDatabase(), startRedisServer()]);
  const owner = new pg.Client({ connectionString: database.ownerUrl });
  await owner.connect();
  const log = createLog('account', 'silent');
  const config = redisConfig.parse({ REDIS_URL: server.url });
  const redis = connectRedis(config, { commandTimeout: 250 });
  redis.on('error', () => {});
  const client = new StreamClient({ connect: () => connectRedis(config), log });
  void client.connect().catch(() => {});
  const foundation = [
    { provide: CONFIG, useValue: { ...defaults, ...settings } },
    { provide: LOG, useValue: log },
    { provide: REDIS, useValue: redis },
    { provide: StreamClient, useValue: client },
  ];
  const dataSource = createDataSource({ url: database.urls.account });
  const module: DynamicModule = {
    module: World,
    imports: [
      { module: Foundation, providers: foundation, exports: foundation },
      TypeOrmModule.forRootAsync({ useFactory: () => ({}), dataSourceFactory: async () => dataSource.initialize() }),
      PeopleModule,
      CredentialsModule,
      GpodderModule,
    ],
  };
  const app = await NestFactory.createApplicationContext(module, { logger: false, abortOnError: false });
  return {
    app,
    owner,
    redis: server,
    url: database.urls.account,
    transaction: (run) => dataSource.transaction(run),
    revoked: async () => {
      const streams = Object.values(revocationStreams).map((stream) => redis.xrange(stream, '-', '+'));
      const entries = (await Promise.all(streams)).flat();
      return entries.map(([, fields]) => `${fields[1]}:${fields[3]}`);
    },
    close: async () => {
      await app.close();
      await client.close();
      redis.disconnect();
      await owner.end();
      await Promise.all([database.drop(), server.dispose()]);
    },
  };
}

@Global()
@Module({})
class Foundation {}

@Module({})
class World {}
