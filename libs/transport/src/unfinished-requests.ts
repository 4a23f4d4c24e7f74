import type { Cluster, Redis } from 'ioredis';
import { requestRetentionMs, serviceKeys } from './wire/format.js';

/**
 * Returns true if one of the services has a waiting or running request that Redis received at or
 * before `timeMs`. First deletes requests that are older than their retention, because those of a
 * stopped service would stay until its next request.
 *
 * @param timeMs a time by the clock of Redis, in milliseconds.
 */
export async function hasUnfinishedRequests(
  redis: Redis | Cluster,
  services: readonly string[],
  timeMs: number,
): Promise<boolean> {
  const oldestEntries = await Promise.all(
    services.map(async (service) => {
      const { requests } = serviceKeys(service);
      await redis.xtrim(requests, 'MINID', timeMs - requestRetentionMs);
      return redis.xrange(requests, '-', String(timeMs), 'COUNT', 1);
    }),
  );
  return oldestEntries.some((entries) => entries.length > 0);
}
