import { type DynamicModule, Module } from '@nestjs/common';
import { Database } from './database.js';

/** Provides the {@link Database} to the modules of a service. */
@Module({})
export class DatabaseModule {
  static forRoot(database: Database): DynamicModule {
    return {
      module: DatabaseModule,
      global: true,
      providers: [{ provide: Database, useValue: database }],
      exports: [Database],
    };
  }
}
