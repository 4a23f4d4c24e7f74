import type { Cluster, Redis } from 'ioredis';
import type { Logger } from 'pino';
import { LastState } from '#runtime';
import { isAccessDenied } from './redis-connection.js';

/**
 * Logs a warning if a server evicts keys when memory is short, because it would lose requests or
 * jobs without an error. Ignores servers that do not report their policy.
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
  const unsafePolicy = policies.find((policy) => policy !== undefined && policy !== 'noeviction');
  if (unsafePolicy)
    log.warn(
      { policy: unsafePolicy },
      `the Redis of ${purpose} evicts keys when memory is short, which loses requests, jobs ` +
        'or events without an error: set maxmemory-policy to noeviction',
    );
}

/**
 * Logs, once per outage, that Redis denies access or has an untrusted certificate.
 *
 * @param purpose what the server stores and the variable of its URL, for the log, such as
 *   `the requests (REDIS_URL)`.
 */
export function warnOfDenial(redis: Redis | Cluster, log: Logger, purpose: string): void {
  const lastAccess = new LastState<'granted' | 'denied'>('granted');
  const logDenial = (error: Error) => {
    if (!isAccessDenied(error) || !lastAccess.changeTo('denied')) return;
    // Logs only the message, because the error contains the command AUTH with the password.
    const reason = error.message;
    log.error(
      { reason },
      `the Redis of ${purpose} denies access or is not trusted: ` +
        'check user, password and certificates',
    );
  };
  redis.on('error', logDenial);
  // A Cluster does not report the errors of its nodes in its own `error` event.
  redis.on('node error', logDenial);
  redis.on('ready', () => lastAccess.changeTo('granted'));
}

function parseEvictionPolicy(info: string): string | undefined {
  return /^maxmemory_policy:(\S+)/m.exec(info)?.[1];
}

/** Number of replies of `maxReplyBytes` that Redis must be able to buffer for a busy gateway. */
const minBufferedReplies = 8;

/** Logs a warning if a server's reply buffers are small, as it would disconnect busy gateways. */
export async function warnOfSmallReplyBuffers(
  redis: Redis | Cluster,
  log: Logger,
  maxReplyBytes: number,
): Promise<void> {
  const neededBytes = minBufferedReplies * maxReplyBytes;
  const readLimits = (server: Redis) =>
    server.config('GET', 'client-output-buffer-limit') as Promise<string[]>;
  // Ignores servers whose configuration clients cannot read, such as many hosted ones.
  const limits = await Promise.all(
    listMasters(redis).map((server) => readLimits(server).then(parsePubsubLimit, () => undefined)),
  );
  const lowestLimit = Math.min(...limits.map((limit) => limit || Number.POSITIVE_INFINITY));
  if (lowestLimit < neededBytes)
    log.warn(
      { limit: lowestLimit, needed: neededBytes },
      'Redis of the requests (REDIS_URL) would disconnect gateways after a few large replies: ' +
        `set the hard limit of client-output-buffer-limit pubsub to at least ${neededBytes} bytes`,
    );
}

/** Returns the hard limit of subscribers in bytes: 0 for none, `undefined` if not reported. */
function parsePubsubLimit([, limits]: readonly string[]): number | undefined {
  const limit = /\bpubsub (\d+)/.exec(limits ?? '')?.[1];
  return limit === undefined ? undefined : Number(limit);
}

function listMasters(redis: Redis | Cluster): Redis[] {
  return 'nodes' in redis ? redis.nodes('master') : [redis];
}
