import { type DynamicModule, Global, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Database } from '#database';
import { createDataSource } from '#database/typeorm';
import type { Log } from '#runtime';
import { StreamClient } from '#transport';
import type { Cluster, Redis } from 'ioredis';
import { type AccountConfig, CONFIG, LOG, REDIS } from './account.config.js';
import { CredentialsModule } from './credentials/credentials.module.js';
import { GpodderModule } from './gpodder/gpodder.module.js';
import { ERROR_PAGE } from './issuer/provider-options.js';
import { IssuerModule } from './issuer/issuer.module.js';
import { issuerErrorPage } from './pages/failure.filter.js';
import { PagesModule } from './pages/pages.module.js';
import { PeopleModule } from './people/people.module.js';

/** Configuration, log and connections of the account app, which every module can inject. */
export interface AccountDependencies {
  readonly config: AccountConfig;
  readonly log: Log;
  readonly database: Database;
  readonly client: StreamClient;
  readonly redis: Redis | Cluster;
}

/** Provides {@link AccountDependencies} to all modules. */
@Global()
@Module({})
class DependenciesModule {
  static forRoot({ config, log, database, client, redis }: AccountDependencies): DynamicModule {
    const providers = [
      { provide: CONFIG, useValue: config },
      { provide: LOG, useValue: log },
      { provide: Database, useValue: database },
      { provide: StreamClient, useValue: client },
      { provide: REDIS, useValue: redis },
      { provide: ERROR_PAGE, useValue: issuerErrorPage },
    ];
    return { module: DependenciesModule, providers, exports: providers };
  }
}

/** Root module of the account app. */
@Module({})
export class AccountModule {
  static forRoot(dependencies: AccountDependencies): DynamicModule {
    return {
      module: AccountModule,
      imports: [
        DependenciesModule.forRoot(dependencies),
        TypeOrmModule.forRootAsync({
          useFactory: () => ({}),
          dataSourceFactory: async () => createDataSource(dependencies.database.pool),
        }),
        PeopleModule,
        CredentialsModule,
        GpodderModule,
        IssuerModule,
        PagesModule,
      ],
    };
  }
}
