import type { Cluster, Redis } from 'ioredis';
import { serviceKeys } from './wire/format.js';

/**
 * Returns true if one of the services has a waiting or running request that Redis received at or
 * before `timeMs`.
 *
 * @param timeMs a time by the clock of Redis, in milliseconds.
 */
export async function hasUnfinishedRequests(
  redis: Redis | Cluster,
  services: readonly string[],
  timeMs: number,
): Promise<boolean> {
  const found = await Promise.all(
    services.map((service) =>
      redis.xrange(serviceKeys(service).requests, '-', String(timeMs), 'COUNT', 1),
    ),
  );
  return found.some((entries) => entries.length > 0);
}
