import { setTimeout as delay } from 'node:timers/promises';
import type { OnApplicationShutdown } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { Failure, type Service, services, unavailable } from '#contracts';
import type { connectRedis } from '#redis';
import type { Log } from '#runtime';
import { hasUnfinishedRequests } from '#transport';

/** Time limit for the end of earlier requests and of all rewrites together, in milliseconds. */
const cleanLimitMs = 120_000;
/** Interval of progress checks in milliseconds. */
const pollMs = 50;

/** The services whose requests contain data of users. The stream of `feed` can be missing. */
const allServices: readonly Service[] = [...services, 'feed'];

/**
 * Matches the error of a Redis that does not support TIME, INFO or BGREWRITEAOF, or denies one of
 * these commands.
 */
const cannotRewritePattern = /unknown command|NOPERM/i;

/**
 * Removes requests of erased users from the append-only files (AOF) of Redis. Until a rewrite, a
 * file contains all commands, with feed URLs, titles and settings. Invariants:
 * - A rewrite starts only after all requests that were in Redis at the time of the call were
 *   answered or dropped. Services reject later requests of erased users.
 * - After a crash of the worker, another worker repeats the rewrite, with the same result.
 */
export class AofCleaner implements OnApplicationShutdown {
  private hasWarned = false;

  /** @param redis a connection to the Redis of requests. AofCleaner closes it at shutdown. */
  constructor(
    private readonly redis: ReturnType<typeof connectRedis>,
    private readonly log: Log,
  ) {
    redis.on('error', (error: Error) =>
      log.debug({ err: error }, 'Redis connection of the erasures failed, reconnecting'),
    );
  }

  onApplicationShutdown(): void {
    this.redis.disconnect();
  }

  /**
   * Rewrites the append-only file of each Redis server that has one. If a server does not allow a
   * rewrite, the method logs a warning once and resolves.
   *
   * @param isStopping returns true if this worker stops. Another worker then repeats the erasure.
   * @throws Failure `unavailable` after a fault of Redis, after the time limit, or when stopping.
   *   The caller should try again later.
   */
  async rewriteAppendOnlyFiles(isStopping: () => boolean): Promise<void> {
    const deadline = performance.now() + cleanLimitMs;
    const pause = async (reason: string) => {
      if (isStopping()) throw unavailable('the worker stops');
      if (performance.now() > deadline) throw unavailable(reason);
      await delay(pollMs);
    };
    try {
      const [seconds, microseconds] = (await this.redis.time()).map(Number) as [number, number];
      const redisNowMs = seconds * 1_000 + Math.ceil(microseconds / 1_000);
      while (await hasUnfinishedRequests(this.redis, allServices, redisNowMs))
        await pause('earlier requests still wait in Redis');
      const servers = 'nodes' in this.redis ? this.redis.nodes('all') : [this.redis];
      await Promise.all(servers.map((server) => rewriteFile(server, pause)));
    } catch (error) {
      if (error instanceof Failure) throw error;
      if (!cannotRewritePattern.test((error as Error).message))
        throw unavailable('the append-only file of Redis was not rewritten', error);
      this.warnOnce((error as Error).message);
    }
  }

  private warnOnce(reason: string): void {
    if (this.hasWarned) return;
    this.hasWarned = true;
    this.log.warn(
      { reason },
      'append-only file of Redis not rewritten: it keeps requests of erased users until its next ' +
        'rewrite. Grant INFO, BGREWRITEAOF and TIME to the user of Redis. Or, only if the queue ' +
        'and the events use another Redis, set "appendonly no"',
    );
  }
}

/** Rewrites the append-only file of a server that has one. */
async function rewriteFile(server: Redis, pause: (reason: string) => Promise<void>): Promise<void> {
  if ((await readPersistence(server)).aof_enabled !== '1') return;
  while (!(await startRewrite(server)))
    await pause('another rewrite of the append-only file of Redis takes too long');
  let persistence = await readPersistence(server);
  while (persistence.aof_rewrite_in_progress === '1' || persistence.aof_rewrite_scheduled === '1') {
    await pause('the rewrite of the append-only file of Redis takes too long');
    persistence = await readPersistence(server);
  }
  if (persistence.aof_last_bgrewrite_status !== 'ok')
    throw unavailable('Redis could not rewrite its append-only file: see its log');
}

/**
 * Starts a rewrite of the append-only file.
 *
 * @returns false if an earlier rewrite is running. Its file can still contain requests.
 */
async function startRewrite(server: Redis): Promise<boolean> {
  try {
    await server.bgrewriteaof();
    return true;
  } catch (error) {
    if (/already in progress/.test((error as Error).message)) return false;
    throw error;
  }
}

/** Returns the fields of the section `persistence` of INFO by name. */
async function readPersistence(server: Redis): Promise<Partial<Record<string, string>>> {
  const info = await server.info('persistence');
  return Object.fromEntries(
    info.split('\r\n').map((line) => line.split(':', 2) as [string, string]),
  );
}
