import { existsSync, mkdirSync, realpathSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import type { EmbeddedServer, ServerOptions } from './embedded-server.js';
import { startOnFreePort } from './free-port.js';
import { findOrFetchRedis } from './redis-binary.js';
import { readOrCreateSecret, writePrivateFile } from './secret-file.js';
import { ServerProcess, stopOrphan, type ServerProgram } from './server-process.js';

export interface RedisOptions extends ServerOptions {
  /** Folder for downloaded programs. Default: `programs` in `directory`. */
  readonly programs?: string;
  /** True to sync each write to disk before its reply. False (default): within two seconds. */
  readonly fsyncEachWrite?: boolean;
}

/**
 * Starts an embedded Redis on 127.0.0.1: the `redis-server` or `valkey-server` on PATH, or a
 * downloaded one. The server requires a random password from a file of mode 0600. It never evicts
 * data.
 *
 * @throws StartError with a message for the operator.
 */
export async function startRedis(options: RedisOptions): Promise<EmbeddedServer> {
  const { directory, durable = true, fsyncEachWrite = false, reportProgress = () => {} } = options;
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const data = realpathSync(directory);
  const { command, env } = await findOrFetchRedis(
    options.programs ?? join(data, 'programs'),
    reportProgress,
  );
  const password = readOrCreateSecret(join(data, 'password'));
  const configuration = join(data, 'redis.conf');
  const program: ServerProgram = {
    ...buildRedisIdentity(data),
    command,
    args: [configuration],
    env,
    logFile: join(data, 'redis.log'),
  };
  if (await stopOrphan(program))
    reportProgress('stopped a Redis that an earlier start had left behind');
  const startOnPort = async (port: number): Promise<EmbeddedServer> => {
    // The password is in a file, because every user of the machine can read arguments.
    writePrivateFile(
      configuration,
      buildRedisSettings(program, port, password, durable, fsyncEachWrite),
    );
    const server = await ServerProcess.start(
      program,
      () => pingRedis(port, password),
      options.stopped,
    );
    return {
      url: `redis://:${password}@127.0.0.1:${port}`,
      port,
      pid: server.pid,
      exited: server.exited,
      stop: () => server.stop(),
    };
  };
  return options.port === undefined ? startOnFreePort(startOnPort) : startOnPort(options.port);
}

/** Stops a server that still runs on a directory of {@link startRedis}, and removes its data. */
export async function removeRedis(directory: string): Promise<void> {
  if (existsSync(directory)) await stopOrphan(buildRedisIdentity(realpathSync(directory)));
  rmSync(directory, { recursive: true, force: true });
}

/** Returns how to find the Redis process of a data directory, and the signals that stop it. */
function buildRedisIdentity(data: string) {
  return {
    name: 'Redis',
    data,
    pidFile: join(data, 'redis.pid'),
    stopSignal: 'SIGTERM',
    forceSignal: 'SIGKILL',
  } as const;
}

function buildRedisSettings(
  { data, pidFile }: ServerProgram,
  port: number,
  password: string,
  durable: boolean,
  fsyncEachWrite: boolean,
): string {
  return [
    'bind 127.0.0.1',
    `port ${port}`,
    `requirepass ${password}`,
    `dir "${data}"`,
    `pidfile "${pidFile}"`,
    // The process title must contain the path of the configuration, because `usesDirectory` finds
    // an orphan by its arguments.
    'set-proc-title no',
    'maxmemory-policy noeviction',
    // Redis runs its background tasks twice instead of ten times a second, because they only expire
    // keys and sync the last write to disk.
    'hz 2',
    // With the default limit, Redis would disconnect a gateway for which it buffers several of the
    // largest replies.
    'client-output-buffer-limit pubsub 64mb 32mb 10',
    // Snapshots are off, because the append-only file holds all data.
    'save ""',
    `appendonly ${durable ? 'yes' : 'no'}`,
    `appendfsync ${fsyncEachWrite ? 'always' : 'everysec'}`,
    // A rewrite in the format of snapshots (RDB) would keep deleted entries of streams.
    'aof-use-rdb-preamble no',
    '',
  ].join('\n');
}

async function pingRedis(port: number, password: string): Promise<void> {
  const redis = new Redis(port, '127.0.0.1', {
    password,
    lazyConnect: true,
    commandTimeout: 5_000,
    retryStrategy: () => null,
  });
  // The listener ignores the error, because `connect` rejects with it.
  redis.on('error', () => {});
  try {
    await redis.connect();
    await redis.ping();
  } finally {
    redis.disconnect();
  }
}
