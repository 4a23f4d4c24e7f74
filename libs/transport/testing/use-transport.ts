import type { Cluster, Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll } from 'vitest';
import { eventually, startRedisServer, type TestServer } from '#testing';
import { StreamClient, type StreamClientOptions } from '../src/index.js';
import {
  connectTo,
  memoryLog,
  startReplica,
  type ProbeOptions,
  type ProbeReplica,
} from './probe-replica.js';

/** Returns factories of replicas and gateways in this process, on a Redis of the test file. */
export function useTransport() {
  let redis: TestServer;
  let admin: Redis | Cluster;
  const environment = () => ({ REDIS_URL: redis.url });
  const replicas: ProbeReplica[] = [];
  const clients: StreamClient[] = [];

  beforeAll(async () => {
    redis = await startRedisServer();
    admin = connectTo(environment());
    await eventually(() => admin.ping());
  });
  afterEach(async () => {
    await Promise.all(clients.splice(0).map((client) => client.close()));
    await Promise.all(replicas.splice(0).map((replica) => replica.app.close()));
    await admin.flushall();
  });
  afterAll(async () => {
    admin.disconnect();
    await redis.dispose();
  });

  return {
    /** A connection for reads and changes of the data in Redis. */
    admin: () => admin,

    redisUrl: () => redis.url,

    async replica(options: ProbeOptions = {}): Promise<ProbeReplica> {
      // Shorter times than in production, so that tests stop quickly.
      const replica = await startReplica(environment(), {
        timings: { drainGraceMs: 0, blockMs: 50, drainMs: 100 },
        ...options,
      });
      replicas.push(replica);
      return replica;
    },

    async client(options: Partial<StreamClientOptions> = {}): Promise<StreamClient> {
      const client = new StreamClient({
        connect: () => connectTo(environment()),
        log: memoryLog().log,
        ...options,
      });
      clients.push(client);
      await client.connect();
      return client;
    },
  };
}
