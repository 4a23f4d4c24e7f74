import type { INestApplicationContext } from '@nestjs/common';
import { createDatabase, startRedisServer, type TestServer } from '#testing';
import pg from 'pg';
import type { EntityManager } from 'typeorm';
import { CredentialsModule } from '../src/credentials/credentials.module.js';
import { GpodderModule } from '../src/gpodder/gpodder.module.js';
import type { PeopleConfig } from '../src/people/people.config.js';
import { PeopleModule } from '../src/people/people.module.js';
import { revokedIn, startParts } from './account.parts.js';

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
  const config = { ...defaults, ...settings };
  const servers = { databaseUrl: database.urls.account, redisUrl: server.url, commandTimeout: 250 };
  const parts = await startParts(config, servers, [PeopleModule, CredentialsModule, GpodderModule]);
  return {
    app: parts.app,
    owner,
    redis: server,
    url: database.urls.account,
    transaction: (run) => parts.dataSource.transaction(run),
    revoked: () => revokedIn(parts.redis),
    close: async () => {
      await parts.close();
      await owner.end();
      await Promise.all([database.drop(), server.dispose()]);
    },
  };
}
