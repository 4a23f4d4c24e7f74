import type { INestApplicationContext } from '@nestjs/common';
import { createDatabase, startRedisServer, type TestServer } from '#testing';
import pg from 'pg';
import type { EntityManager } from 'typeorm';
import { CredentialsModule } from '../src/credentials/credentials.module.js';
import { GpodderModule } from '../src/gpodder/gpodder.module.js';
import type { PeopleConfig } from '../src/people/people.config.js';
import { PeopleModule } from '../src/people/people.module.js';
import { readRevocations, startModules } from './account-modules.js';

/** Modules of people, credentials and gpodder data with their own database and Redis. */
export interface PeopleFixture {
  readonly app: INestApplicationContext;
  /** Connection with all rights. */
  readonly owner: pg.Client;
  readonly redis: TestServer;
  /** Database URL of the owner, with all rights. */
  readonly ownerUrl: string;
  /** Database URL of the account app. */
  readonly databaseUrl: string;
  /** Runs statements in a transaction with the rights of the account app. */
  transaction<Result>(run: (manager: EntityManager) => Promise<Result>): Promise<Result>;
  /** Returns all revocations as `kind:id`. */
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

/** Starts the modules. Only for the `int` tier, in `beforeAll`. */
export async function openPeople(settings: Partial<PeopleConfig> = {}): Promise<PeopleFixture> {
  const [database, server] = await Promise.all([createDatabase(), startRedisServer()]);
  const owner = new pg.Client({ connectionString: database.ownerUrl });
  await owner.connect();
  const config = { ...defaults, ...settings };
  const servers = { databaseUrl: database.urls.account, redisUrl: server.url, commandTimeout: 250 };
  const parts = await startModules(config, servers, [
    PeopleModule,
    CredentialsModule,
    GpodderModule,
  ]);
  return {
    app: parts.app,
    owner,
    ownerUrl: database.ownerUrl,
    redis: server,
    databaseUrl: database.urls.account,
    transaction: (run) => parts.dataSource.transaction(run),
    revoked: () => readRevocations(parts.redis),
    close: async () => {
      await parts.close();
      await owner.end();
      await Promise.all([database.drop(), server.dispose()]);
    },
  };
}
