import { type DynamicModule, Module } from '@nestjs/common';
import { Database } from '#database';
import { AddressGuard, Fetcher } from '#fetch';
import type { Log } from '#runtime';
import type { FeedConfig } from './feed.config.js';
import { FeedService } from './feed.service.js';
import { FeedStore } from './feed.store.js';
import { FetchLoop } from './schedule/fetch.loop.js';

/** The module of the feeds that users follow. */
@Module({})
export class FeedModule {
  static forRoot(config: FeedConfig, log: Log): DynamicModule {
    const { FEEDS_ALLOW: guard = new AddressGuard(), PUBLIC_URL: url } = config;
    const userAgent = url === undefined ? 'PodcastSync' : `PodcastSync (+${url})`;
    const store = {
      provide: FeedStore,
      inject: [Database],
      useFactory: (database: Database) => new FeedStore(database),
    };
    const loop = {
      provide: FetchLoop,
      inject: [FeedStore],
      useFactory: (feeds: FeedStore) =>
        new FetchLoop({
          store: feeds,
          fetcher: new Fetcher({ userAgent, guard }),
          log,
          concurrency: config.FEEDS_CONCURRENCY,
        }),
    };
    return {
      module: FeedModule,
      controllers: [FeedService],
      providers: [store, ...(config.FEEDS_ROLE === 'all' ? [loop] : [])],
    };
  }
}
