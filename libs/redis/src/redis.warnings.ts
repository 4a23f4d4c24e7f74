import type { Cluster, Redis } from 'ioredis';
import type { Logger } from 'pino';
import { Condition } from '#runtime';
import { isAccessDenied } from './redis.connection.js';

/**
 * Warns about servers that evict keys when memory is short, which would silently lose requests or
 * jobs. Ignores servers that do not report their policy.
 *
 * @param purpose the purpose of the server, for the log.
 */
export async function warnOfEviction(
  redis: Redis | Cluster,
  log: Logger,
  purpose: string,
): Promise<void> {
  const policies = await Promise.all(
    masters(redis).map((server) => server.info('memory').then(policyIn, () => undefined)),
  );
  const evicting = policies.find((policy) => policy !== undefined && policy !== 'noeviction');
  if (evicting)
    log.warn(
      { policy: evicting },
      `the Redis of ${purpose} evicts keys when memory is short: ` +
        'set maxmemory-policy to noeviction',
    );
}

/**
 * Logs, once per outage, that Redis denies access or has an untrusted certificate.
 *
 * @param purpose the purpose of the server, for the log.
 */
export function warnOfDenial(redis: Redis | Cluster, log: Logger, purpose: string): void {
  const access = new Condition<'granted' | 'denied'>('granted');
  const failed = (error: Error) => {
    if (!isAccessDenied(error) || !access.becomes('denied')) return;
    // The error itself carries the command, and with it the password.
    const reason = error.message;
    log.error(
      { reason },
      `the Redis of ${purpose} denies access or is not trusted: ` +
        'check user, password and certificates',
    );
  };
  redis.on('error', failed);
  // A Cluster's own error does not contain its nodes' errors.
  redis.on('node error', failed);
  redis.on('ready', () => access.becomes('granted'));
}

function policyIn(info: string): string | undefined {
  return /^maxmemory_policy:(\S+)/m.exec(info)?.[1];
}

/** Number of replies of maximum size that Redis must buffer for a gateway that is briefly busy. */
const largestRepliesAtOnce = 8;

/** Warns about servers whose output buffers are too small for the replies to a busy gateway. */
export async function warnOfSmallReplyBuffers(
  redis: Redis | Cluster,
  log: Logger,
  maxReplyBytes: number,
): Promise<void> {
  const needed = largestRepliesAtOnce * maxReplyBytes;
  const ask = (server: Redis) =>
    server.config('GET', 'client-output-buffer-limit') as Promise<string[]>;
  // Many hosted servers do not let clients read their configuration: these get no warning.
  const limits = await Promise.all(
    masters(redis).map((server) => ask(server).then(pubsubLimitIn, () => undefined)),
  );
  const lowest = Math.min(...limits.map((limit) => limit || Number.POSITIVE_INFINITY));
  if (lowest < needed)
    log.warn(
      { limit: lowest, needed },
      'the Redis of the requests disconnects gateways after few large replies: ' +
        `set client-output-buffer-limit pubsub to at least ${needed} bytes`,
    );
}

/** Returns the hard limit in bytes; 0 means no limit, `undefined` that it was not reported. */
function pubsubLimitIn([, limits]: readonly string[]): number | undefined {
  const limit = /\bpubsub (\d+)/.exec(limits ?? '')?.[1];
  return limit === undefined ? undefined : Number(limit);
}

function masters(redis: Redis | Cluster): Redis[] {
  return 'nodes' in redis ? redis.nodes('master') : [redis];
}
