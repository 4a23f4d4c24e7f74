import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import type { ChangeEvent, EventKind } from '#contracts';
import { Database } from '#database';
import { connectRedis, redisConfig } from '#redis';
import { createLog } from '#runtime';
import { eventually, startRedisServer, type TestServer } from '#testing';
import { type DatabaseWorld, openDatabase } from '../../../libs/database/testing/database.world.js';
import { EventPublisher } from '../src/events/event.publisher.js';
import { EventRelay } from '../src/events/event.relay.js';
import { eventsIn } from './event.follower.js';

/** Relays of events on a database of their own and a Redis of their own. */
export interface EventWorld extends DatabaseWorld {
  server: TestServer;
  redis: Redis;
  /**
   * A relay, as a replica has one, that runs when it is started.
   *
   * @param url its Redis, if it is reached by another way.
   * @param Relay another class of relays.
   */
  relay(batchSize?: number, url?: string, Relay?: typeof EventRelay): EventRelay;
  /** A write of a user. @returns its stamp. */
  write(userId: string, ...changes: EventKind[]): Promise<string>;
  /** All events of the stream, oldest first. */
  events(): Promise<ChangeEvent[]>;
  /** How many rows are in the outbox. */
  waiting(): Promise<number>;
}

export async function openEvents(): Promise<EventWorld> {
  const [world, server] = await Promise.all([
    openDatabase('deletion', true),
    startRedisServer({ durable: true, eachWrite: true }),
  ]);
  const redis = new Redis(server.url, { retryStrategy: () => 50 });
  redis.on('error', () => {});
  const publishers: EventPublisher[] = [];
  const { database, owner } = world;
  return {
    ...world,
    server,
    redis,
    relay: (batchSize, url = server.url, Relay = EventRelay) => {
      const connect = () => connectRedis(redisConfig.parse({ REDIS_URL: url }));
      const log = createLog('test', 'silent');
      const publisher = new EventPublisher(connect(), connect(), { maxEntries: 10_000, replicas: 0 }, log);
      publishers.push(publisher);
      return new Relay(database, publisher, log, batchSize);
    },
    write: (userId, ...changes) => writeOf(database, userId, changes),
    events: () => eventsIn(redis),
    waiting: async () => {
      const { rows } = await owner.query<{ count: number }>('SELECT count(*)::int FROM sync.events');
      return rows[0]?.count ?? 0;
    },
    close: async () => {
      for (const publisher of publishers) publisher.onApplicationShutdown();
      redis.disconnect();
      await Promise.all([world.close(), server.dispose()]);
    },
  };
}

/** Sends a write, and again until it is acknowledged, as a client does. */
function writeOf(database: Database, userId: string, changes: readonly EventKind[]): Promise<string> {
  const write = { userId, requestId: randomUUID(), changes, smallAnswer: true, remainingMs: () => 10_000 };
  return eventually(() => database.write(write, async ({ stamp }) => stamp));
}
