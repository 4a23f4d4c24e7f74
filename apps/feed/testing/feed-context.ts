import { randomUUID } from 'node:crypto';
import type { TestingModule } from '@nestjs/testing';
import { DatabaseModule } from '#database';
import { Fetcher, AddressGuard } from '#fetch';
import { createLog } from '#runtime';
import { Fixture, type FixtureDatabase, freshUser } from '#testing';
import type { Podcast } from '#contracts';
import { FeedServer } from '../../../libs/fetch/testing/feed-server.js';
import { type FeedConfig, feedConfig } from '../src/feed.config.js';
import { DueWork } from '../src/due-work.js';
import { ImageRepository } from '../src/artwork/image.repository.js';
import { FeedModule } from '../src/feed.module.js';
import { FeedService } from '../src/feed.service.js';
import { FeedRepository } from '../src/feed.repository.js';
import { PreviewRepository } from '../src/preview/preview.repository.js';
import { FetchLoop } from '../src/schedule/fetch-loop.js';

const subscribe = `
  INSERT INTO subscription.subscriptions
    (user_id, feed_url, guid, is_subscribed, is_subscribed_at, subscription_changed, changed)
  VALUES ($1, $2, $3, true, $4, $4, $4) RETURNING id`;
/** Tasks run only with Redis. Without it they stay in the table, where tests read them. */
export const unreachableRedis = 'redis://127.0.0.1:1';
const nameGuid = `
  INSERT INTO subscription.guids (user_id, guid, subscription_id, attached)
  VALUES ($1, $2, $3, 'epoch')`;

/** The feed service on its own database, next to a server with feeds. */
export interface FeedContext extends FixtureDatabase {
  readonly server: FeedServer;
  readonly service: FeedService;
  readonly repository: FeedRepository;
  readonly work: DueWork;
  readonly images: ImageRepository;
  readonly previews: PreviewRepository;
  /** Returns the loop of a further replica, which a test runs step by step. */
  openLoop(random?: () => number): FetchLoop;
  /** Starts a module of the service that is configured by environment variables. */
  startWith(variables: Readonly<Record<string, string>>): Promise<TestingModule>;
  /** Subscribes a user. Returns the guid. @param changed the time of the change. */
  follow(userId: string, url: string, changed?: string): Promise<string>;
  /** Reads the podcasts of a user. */
  podcasts(userId: string): Promise<Podcast[]>;
  /** Makes all feeds due, and frees all lanes. */
  makeDue(): Promise<void>;
  /** Fetches the due feed of each lane, once. */
  fetchDue(): Promise<void>;
  close(): Promise<void>;
}

export async function openFeeds(): Promise<FeedContext> {
  const fixture = new Fixture();
  const base = await fixture.database('feed');
  const server = await FeedServer.open();
  fixture.onClose(() => server.close());
  const log = createLog('feed', 'silent');
  const config = feedConfig.parse({
    DATABASE_URL: base.urls.feed,
    REDIS_URL: unreachableRedis,
    FEEDS_ROLE: 'answers',
  });
  const moduleOf = (of: FeedConfig) =>
    fixture.module([DatabaseModule.forRoot(base.database), FeedModule.forRoot(of, log)]);
  const module = await moduleOf(config);
  const [service, repository] = [module.get(FeedService), module.get(FeedRepository)];
  const work = module.get(DueWork);
  const guard = new AddressGuard([`127.0.0.1:${server.port}`, `localhost:${server.port}`]);
  const fetcher = new Fetcher({ userAgent: 'Test', guard });
  const openLoop = (random = () => 0.5) =>
    new FetchLoop({
      repository,
      work,
      fetcher,
      log,
      apply: { moves: true, guids: true },
      concurrency: 8,
      random,
    });
  const { owner } = base;
  return {
    ...base,
    server,
    service,
    repository,
    work,
    images: module.get(ImageRepository),
    previews: module.get(PreviewRepository),
    openLoop,
    startWith: (variables) =>
      moduleOf(
        feedConfig.parse({
          DATABASE_URL: base.urls.feed,
          REDIS_URL: unreachableRedis,
          FEEDS_ALLOW: `127.0.0.1:${server.port}`,
          ...variables,
        }),
      ),
    follow: async (userId, url, changed = '2026-01-01T00:00:00Z') => {
      const guid = randomUUID();
      const { rows } = await owner.query<{ id: number }>(subscribe, [userId, url, guid, changed]);
      await owner.query(nameGuid, [userId, guid, rows[0]?.id]);
      return guid;
    },
    podcasts: async (userId) =>
      (await service.listPodcasts({ userId, after: 0, perPage: 100 })).feeds.parse(),
    makeDue: async () => {
      await owner.query(`UPDATE feed.fetches SET next_at = 'epoch'`);
      await owner.query(`UPDATE feed.lanes SET next_at = 'epoch', busy_until = '-infinity'`);
    },
    fetchDue: async () => {
      await openLoop().runDue();
    },
    close: () => fixture.close(),
  };
}

/** Subscribes a new user to a feed, and fetches it. Returns the user and the guid. */
export async function fetched(context: FeedContext, url: string) {
  const userId = freshUser();
  const guid = await context.follow(userId, url);
  await context.podcasts(userId);
  await context.owner.query(`UPDATE feed.lanes SET busy_until = '-infinity'`);
  await context.fetchDue();
  return { userId, guid };
}
