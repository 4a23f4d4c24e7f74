import type { Cluster, Redis } from 'ioredis';
import type { Logger } from 'pino';

/**
 * Warns about servers that would make room by dropping keys: dropped without a trace would be requests or jobs. Where a
 * server does not say what it does, nothing is said either.
 *
 * @param duty what the server is for, as it is to be named.
 */
export async function warnOfEviction(redis: Redis | Cluster, log: Logger, duty: string): Promise<void> {
  const servers = 'nodes' in redis ? redis.nodes('master') : [redis];
  const policies = await Promise.all(servers.map((server) => server.info('memory').then(policyIn, () => undefined)));
  const evicting = policies.find((policy) => policy !== undefined && policy !== 'noeviction');
  if (evicting)
    log.warn(
      { policy: evicting },
      `the Redis of ${duty} drops keys when memory is short: set maxmemory-policy to noeviction`,
    );
}

function policyIn(info: string): string | undefined {
  return /^maxmemory_policy:(\S+)/m.exec(info)?.[1];
}
