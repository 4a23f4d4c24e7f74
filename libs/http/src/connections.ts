import type { Service } from '#contracts';
import { AppPasswordVerifier, Revocations } from '#identity';
import { connectRedis, type RedisConfig } from '#redis';
import type { Log } from '#runtime';
import { StreamClient, traceCalls, watchClient } from '#transport';
import type { HttpConfig, RateLimit } from './http.config.js';
import { RateLimits } from './rate-limits.js';

/** Connections of an HTTP app to Redis and the services, shared by the apps of one process. */
export interface Connections {
  readonly client: StreamClient;
  readonly revocations: Revocations;
  readonly appPasswords: AppPasswordVerifier;
  readonly limits: RateLimits;
  /**
   * Resolves when the client has connected to Redis once, and rate limits and revocations are ready
   * or their time limits have passed.
   */
  readonly opened: Promise<unknown>;
  /**
   * Returns a text for the operator until the client has connected to Redis once, afterwards an
   * empty array. It does not list a later loss of Redis, because the app then stays ready and only
   * calls fail.
   */
  missingConnections(): readonly string[];
  close(): Promise<void>;
}

type ConnectionsConfig = RedisConfig &
  Pick<HttpConfig, 'RATE_LIMIT_PER_ADDRESS'> & {
    readonly MAX_CALLS: number;
    readonly RATE_LIMIT_PER_USER?: RateLimit;
  };

/** Opens the connections without waiting for Redis. @param services the services to call. */
export function openConnections(
  config: ConnectionsConfig,
  log: Log,
  services: readonly Service[],
): Connections {
  const connect = () => connectRedis(config);
  const client = new StreamClient({ connect, log, services, maxInFlight: config.MAX_CALLS });
  traceCalls(client);
  watchClient(() => client.counters);
  const revocations = new Revocations(config, log);
  const limits = new RateLimits(config, log);
  let hasConnected = false;
  // Ignores the rejection, which occurs only if the client is closed before it has connected.
  const connected = client.connect().then(
    () => void (hasConnected = true),
    () => {},
  );
  return {
    client,
    revocations,
    appPasswords: new AppPasswordVerifier(client, revocations),
    limits,
    opened: Promise.all([connected, limits.waitUntilOpen(), revocations.waitUntilOpen()]),
    missingConnections: () => (hasConnected ? [] : ['Redis: not connected since the start']),
    close: async () => {
      await Promise.all([client.close(), revocations.close()]);
      limits.close();
    },
  };
}
