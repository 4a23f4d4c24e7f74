import type { Service } from '#contracts';
import { AppPasswordVerifier, Revocations } from '#identity';
import { connectRedis, type RedisConfig } from '#redis';
import type { Log } from '#runtime';
import { StreamClient, traceCalls, watchClient } from '#transport';
import type { HttpConfig, RateLimit } from './http.config.js';
import { RateLimits } from './rate.limits.js';

/** Connections of an HTTP app to Redis and the services, shared by the apps of one process. */
export interface Connections {
  readonly client: StreamClient;
  readonly revocations: Revocations;
  readonly appPasswords: AppPasswordVerifier;
  readonly limits: RateLimits;
  /** Settles after the first connection to Redis. */
  readonly opened: Promise<unknown>;
  /** Returns a text for the operator until Redis was connected once; then an empty list. */
  missing(): readonly string[];
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
  // Rejects only if the client is closed first.
  const connected = client.connect().then(
    () => void (hasConnected = true),
    () => {},
  );
  return {
    client,
    revocations,
    appPasswords: new AppPasswordVerifier(client, revocations),
    limits,
    opened: Promise.all([connected, limits.opened(), revocations.opened()]),
    missing: () => (hasConnected ? [] : ['Redis: not connected since the start']),
    close: async () => {
      await Promise.all([client.close(), revocations.close()]);
      limits.close();
    },
  };
}
