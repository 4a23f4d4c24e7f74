import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import type { ChangeEvent, EventKind } from '#contracts';
import { connectRedis, redisConfig } from '#redis';
import { createLog } from '#runtime';
import { eventually, Fixture, type FixtureDatabase, type TestServer } from '#testing';
import { EventPublisher } from '../src/events/event-publisher.js';
import { EventRelay } from '../src/events/event-relay.js';
import { eventsIn } from './event-follower.js';

/** Relays of events on a separate database and a separate Redis. */
export interface EventContext extends FixtureDatabase {
  server: TestServer;
  redis: Redis;
  /**
   * Creates a relay, like that of a replica, without starting it.
   *
   * @param url URL of its Redis, by default that of `server`.
   */
  relay(batchSize?: number, url?: string): EventRelay;
  /** Runs a write of a user and retries until it succeeds. @returns its stamp. */
  write(userId: string, ...changes: EventKind[]): Promise<string>;
  /** All events of the stream, oldest first. */
  events(): Promise<ChangeEvent[]>;
  /** Counts the rows of the outbox. */
  waiting(): Promise<number>;
  close(): Promise<void>;
}

/** Creates a database, a durable Redis and the functions of {@link EventContext}. */
export async function openEvents(): Promise<EventContext> {
  const fixture = new Fixture();
  const [base, server] = await Promise.all([
    fixture.database('deletion', true),
    fixture.redis({ durable: true, fsyncEachWrite: true }),
  ]);
  const redis = new Redis(server.url, { retryStrategy: () => 50 });
  redis.on('error', () => {});
  fixture.onClose(() => redis.disconnect());
  const { database, owner } = base;
  return {
    ...base,
    server,
    redis,
    relay: (batchSize, url = server.url) => {
      const log = createLog('test', 'silent');
      const publisher = new EventPublisher(
        connectRedis(redisConfig.parse({ REDIS_URL: url })),
        { maxEntries: 10_000, replicas: 0 },
        log,
      );
      fixture.onClose(() => publisher.onApplicationShutdown());
      return new EventRelay(database, publisher, log, batchSize);
    },
    write: (userId, ...changes) => {
      const write = {
        userId,
        requestId: randomUUID(),
        changes,
        smallAnswer: true,
        remainingMs: () => 10_000,
      };
      return eventually(() => database.write(write, async ({ stamp }) => stamp));
    },
    events: () => eventsIn(redis),
    waiting: async () => {
      const { rows } = await owner.query<{ count: number }>(
        'SELECT count(*)::int FROM sync.events',
      );
      return rows[0]?.count ?? 0;
    },
    close: () => fixture.close(),
  };
}
