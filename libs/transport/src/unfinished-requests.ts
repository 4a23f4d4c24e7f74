import type { Cluster, Redis } from 'ioredis';
import { requestRetentionMs, serviceKeys } from './wire/format.js';

/**
 * Returns true if one of the services has a waiting or running request that Redis received at or
 * before `timeMs`. First deletes requests that are older than their retention: otherwise those of a
 * stopped service stay until its next request.
 *
 * @param timeMs a time by the clock of Redis, in milliseconds.
 */
export async function hasUnfinishedRequests(
  redis: Redis | Cluster,
  services: readonly string[],
  timeMs: number,
): Promise<boolean> {
  const found = await Promise.all(
    services.map(async (service) => {
      const { requests } = serviceKeys(service);
      await redis.xtrim(requests, 'MINID', timeMs - requestRetentionMs);
      return redis.xrange(requests, '-', String(timeMs), 'COUNT', 1);
    }),
  );
  return found.some((entries) => entries.length > 0);
}
