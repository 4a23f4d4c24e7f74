import { type DynamicModule, Module, type Provider, type Type } from '@nestjs/common';
import { Database } from '#database';
import { AddressGuard, Fetcher } from '#fetch';
import { sourceLimits } from '#gpodder-data';
import { connectRedis } from '#redis';
import type { Log } from '#runtime';
import { StreamClient } from '#transport';
import { ArtworkLoop } from './artwork/artwork-loop.js';
import { ImageRepository } from './artwork/image.repository.js';
import { Thumbnailer } from './artwork/thumbnailer.js';
import type { FeedConfig } from './feed.config.js';
import { DueWork } from './due-work.js';
import { FeedService } from './feed.service.js';
import { FeedRepository } from './feed.repository.js';
import { ImportLoop } from './import/import-loop.js';
import { ImportRepository } from './import/import.repository.js';
import { ImportService } from './import/import.service.js';
import { PreviewLoop } from './preview/preview-loop.js';
import { PreviewRepository } from './preview/preview.repository.js';
import { TaskLoop } from './task/task-loop.js';
import { TaskRepository } from './task/task.repository.js';
import { FeedSweep } from './schedule/feed-sweep.js';
import { FetchLoop } from './schedule/fetch-loop.js';

/** Time limit of one fetch for a preview, in milliseconds. */
const previewLimitMs = 8_000;

/**
 * The module of the feed service. `FEEDS` and `FEEDS_ROLE` decide whether a replica answers
 * requests, fetches feeds, or does both.
 */
@Module({})
export class FeedModule {
  static forRoot(config: FeedConfig, log: Log): DynamicModule {
    const isAnswering = config.FEEDS !== 'off' && config.FEEDS_ROLE !== 'fetches';
    const isFetching = config.FEEDS === 'fetched' && config.FEEDS_ROLE !== 'answers';
    const taskLoop = createLoopProvider(TaskLoop, (database, work) => {
      const [feeds, taskRepository] = [new FeedRepository(database), new TaskRepository(database)];
      return new TaskLoop({
        feeds,
        tasks: taskRepository,
        work,
        client: createClient(config, log),
        log,
      });
    });
    const feedSweep = createLoopProvider(FeedSweep, (database) => {
      return new FeedSweep(new FeedRepository(database), log);
    });
    return {
      module: FeedModule,
      controllers: isAnswering ? [FeedService, ImportService] : [],
      providers: [
        ...[FeedRepository, ImageRepository, ImportRepository, PreviewRepository, DueWork].map(
          (type) => ({
            provide: type,
            inject: [Database],
            useFactory: (database: Database) => new type(database),
          }),
        ),
        ...(isFetching ? createFetchingProviders(config, log) : []),
        ...(isAnswering ? [taskLoop] : []),
        ...(isAnswering || isFetching ? [feedSweep] : []),
      ],
    };
  }
}

/** Returns a Nest provider that creates a loop from the database and the notifier of due work. */
function createLoopProvider(
  loop: Type,
  createLoop: (database: Database, work: DueWork) => unknown,
): Provider {
  return { provide: loop, inject: [Database, DueWork], useFactory: createLoop };
}

/** Returns a client of the services that store subscriptions and episodes. */
function createClient(config: FeedConfig, log: Log): StreamClient {
  const services = ['episode', 'subscription'] as const;
  return new StreamClient({ services, connect: () => connectRedis(config), log });
}

/** Returns the providers that send requests to publishers and to other servers. */
function createFetchingProviders(config: FeedConfig, log: Log): Provider[] {
  const { FEEDS_ALLOW: guard = new AddressGuard(), PUBLIC_URL: publicUrl } = config;
  const userAgent = publicUrl === undefined ? 'PodcastSync' : `PodcastSync (+${publicUrl})`;
  const fetcher = new Fetcher({ userAgent, guard });
  const previewFetcher = new Fetcher({ userAgent, guard, limits: { totalMs: previewLimitMs } });
  const appliedChanges = {
    moves: config.FEEDS_APPLY !== 'none',
    guids: config.FEEDS_APPLY === 'all',
  };
  const thumbnailer = new Thumbnailer();
  return [
    createLoopProvider(FetchLoop, (database, work) => {
      const [repository, concurrency] = [new FeedRepository(database), config.FEEDS_CONCURRENCY];
      return new FetchLoop({ repository, work, fetcher, log, apply: appliedChanges, concurrency });
    }),
    createLoopProvider(ArtworkLoop, (database, work) => {
      const repository = new ImageRepository(database);
      return new ArtworkLoop({ repository, work, fetcher, thumbnailer, log });
    }),
    createLoopProvider(PreviewLoop, (database, work) => {
      const repository = new PreviewRepository(database);
      return new PreviewLoop({ repository, work, fetcher: previewFetcher, thumbnailer, log });
    }),
    createLoopProvider(ImportLoop, (database, work) => {
      const repository = new ImportRepository(database);
      const importFetcher = new Fetcher({ userAgent, guard, limits: sourceLimits });
      const client = createClient(config, log);
      return new ImportLoop({ repository, work, client, fetcher: importFetcher, guard, log });
    }),
  ];
}
