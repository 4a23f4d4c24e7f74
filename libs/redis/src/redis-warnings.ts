import type { Cluster, Redis } from 'ioredis';
import type { Logger } from 'pino';
import { LastState } from '#runtime';
import { isAccessDenied } from './redis-connection.js';

/**
 * Warns about servers that evict keys when memory is short: they would lose requests or jobs
 * without an error. Ignores servers that do not report their policy.
 *
 * @param purpose what the server stores and the variable of its URL, for the log, such as
 *   `the requests (REDIS_URL)`.
 */
export async function warnOfEviction(
  redis: Redis | Cluster,
  log: Logger,
  purpose: string,
): Promise<void> {
  const policies = await Promise.all(
    listMasters(redis).map((server) =>
      server.info('memory').then(parseEvictionPolicy, () => undefined),
    ),
  );
  const evicting = policies.find((policy) => policy !== undefined && policy !== 'noeviction');
  if (evicting)
    log.warn(
      { policy: evicting },
      `the Redis of ${purpose} evicts keys when memory is short, which loses requests, jobs ` +
        'or events without an error: set maxmemory-policy to noeviction',
    );
}

/**
 * Logs, once per outage, that Redis denies access or has an untrusted certificate.
 *
 * @param purpose what the server stores and the variable of its URL, as above.
 */
export function warnOfDenial(redis: Redis | Cluster, log: Logger, purpose: string): void {
  const access = new LastState<'granted' | 'denied'>('granted');
  const failed = (error: Error) => {
    if (!isAccessDenied(error) || !access.changeTo('denied')) return;
    // Logs only the message: the error object contains the command AUTH with the password.
    const reason = error.message;
    log.error(
      { reason },
      `the Redis of ${purpose} denies access or is not trusted: ` +
        'check user, password and certificates',
    );
  };
  redis.on('error', failed);
  // A Cluster does not report the errors of its nodes in its own `error` event.
  redis.on('node error', failed);
  redis.on('ready', () => access.changeTo('granted'));
}

function parseEvictionPolicy(info: string): string | undefined {
  return /^maxmemory_policy:(\S+)/m.exec(info)?.[1];
}

/** Number of largest replies that Redis must be able to buffer for a busy gateway. */
const minBufferedReplies = 8;

/** Warns about servers whose output buffers are too small: they would disconnect busy gateways. */
export async function warnOfSmallReplyBuffers(
  redis: Redis | Cluster,
  log: Logger,
  maxReplyBytes: number,
): Promise<void> {
  const needed = minBufferedReplies * maxReplyBytes;
  const ask = (server: Redis) =>
    server.config('GET', 'client-output-buffer-limit') as Promise<string[]>;
  // Ignores servers whose configuration clients cannot read, such as many hosted ones.
  const limits = await Promise.all(
    listMasters(redis).map((server) => ask(server).then(parsePubsubLimit, () => undefined)),
  );
  const lowest = Math.min(...limits.map((limit) => limit || Number.POSITIVE_INFINITY));
  if (lowest < needed)
    log.warn(
      { limit: lowest, needed },
      'Redis of the requests (REDIS_URL) would disconnect gateways after a few large replies: ' +
        `set the hard limit of client-output-buffer-limit pubsub to at least ${needed} bytes`,
    );
}

/** Returns the hard limit in bytes: 0 for no limit, `undefined` if it is not reported. */
function parsePubsubLimit([, limits]: readonly string[]): number | undefined {
  const limit = /\bpubsub (\d+)/.exec(limits ?? '')?.[1];
  return limit === undefined ? undefined : Number(limit);
}

function listMasters(redis: Redis | Cluster): Redis[] {
  return 'nodes' in redis ? redis.nodes('master') : [redis];
}
