import type { Cluster, Redis } from 'ioredis';
import type { Logger } from 'pino';

/**
 * Warns about servers that would make room by dropping keys: dropped without a trace would be requests or jobs. Where a
 * server does not say what it does, nothing is said either.
 *
 * @param duty what the server is for, as it is to be named.
 */
export async function warnOfEviction(redis: Redis | Cluster, log: Logger, duty: string): Promise<void> {
  const policies = await Promise.all(
    masters(redis).map((server) => server.info('memory').then(policyIn, () => undefined)),
  );
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

/**
 * How many of the largest replies Redis has to hold for one gateway that is busy for a moment. Where that is too much for
 * it, it cuts the gateway's connection, and every call that waits there fails.
 */
const largestRepliesAtOnce = 8;

/** Warns about servers that cut a subscriber's connection over fewer bytes than replies may need. */
export async function warnOfCutReplies(redis: Redis | Cluster, log: Logger, maxReplyBytes: number): Promise<void> {
  const needed = largestRepliesAtOnce * maxReplyBytes;
  const ask = (server: Redis) => server.config('GET', 'client-output-buffer-limit') as Promise<string[]>;
  // Many a hosted one keeps its configuration to itself.
  const limits = await Promise.all(masters(redis).map((server) => ask(server).then(pubsubLimitIn, () => undefined)));
  const lowest = Math.min(...limits.map((limit) => limit || Number.POSITIVE_INFINITY));
  if (lowest < needed)
    log.warn(
      { limit: lowest, needed },
      'the Redis of the requests cuts the connection of a gateway over few large replies: set client-output-buffer-limit pubsub',
    );
}

/** The hard limit in bytes; 0 for none. */
function pubsubLimitIn([, limits]: readonly string[]): number | undefined {
  const limit = /\bpubsub (\d+)/.exec(limits ?? '')?.[1];
  return limit === undefined ? undefined : Number(limit);
}

function masters(redis: Redis | Cluster): Redis[] {
  return 'nodes' in redis ? redis.nodes('master') : [redis];
}
