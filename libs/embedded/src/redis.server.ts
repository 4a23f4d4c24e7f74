import { existsSync, mkdirSync, realpathSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import type { EmbeddedServer, ServerOptions } from './embedded.server.js';
import { onFreePort } from './free.port.js';
import { redisBinary } from './redis.binary.js';
import { secretFile, writePrivateFile } from './secret.file.js';
import { ServerProcess, stopOrphan, type ServerProgram } from './server.process.js';

export interface RedisOptions extends ServerOptions {
  /** Where programs are kept that had to be fetched first. Default: `programs` in the directory. */
  readonly programs?: string;
  /** Whether each write is on the disk before it is acknowledged; default: within about two seconds. */
  readonly eachWrite?: boolean;
}

/**
 * Starts a Redis of our own on 127.0.0.1: the `redis-server` or `valkey-server` on PATH, or one that is fetched for
 * this directory alone. It asks for a random password, kept in a file of mode 0600, and loses no message to
 * eviction.
 *
 * @throws StartError with a message for the person who wants it to run.
 */
export async function startRedis(options: RedisOptions): Promise<EmbeddedServer> {
  const { directory, durable = true, eachWrite = false, progress = () => {} } = options;
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const data = realpathSync(directory);
  const { command, env } = await redisBinary(options.programs ?? join(data, 'programs'), progress);
  const password = secretFile(join(data, 'password'));
  const configuration = join(data, 'redis.conf');
  const program: ServerProgram = {
    ...identity(data),
    command,
    args: [configuration],
    env,
    logFile: join(data, 'redis.log'),
  };
  if (await stopOrphan(program)) progress('stopped a Redis that an earlier start had left behind');
  const startOn = async (port: number): Promise<EmbeddedServer> => {
    // In a file and not among the arguments, which every user of the machine can read.
    writePrivateFile(configuration, settings(program, port, password, durable, eachWrite));
    const server = await ServerProcess.start(program, () => answers(port, password));
    return {
      url: `redis://:${password}@127.0.0.1:${port}`,
      port,
      pid: server.pid,
      exited: server.exited,
      stop: () => server.stop(),
    };
  };
  return options.port === undefined ? onFreePort(startOn) : startOn(options.port);
}

/** Stops what still runs on a directory of {@link startRedis} and removes it with all its data. */
export async function removeRedis(directory: string): Promise<void> {
  if (existsSync(directory)) await stopOrphan(identity(realpathSync(directory)));
  rmSync(directory, { recursive: true, force: true });
}

/** By what a Redis on a data directory is known, and how it is stopped. */
function identity(data: string) {
  return {
    name: 'Redis',
    data,
    pidFile: join(data, 'redis.pid'),
    stopSignal: 'SIGTERM',
    forceSignal: 'SIGKILL',
  } as const;
}

function settings(
  { data, pidFile }: ServerProgram,
  port: number,
  password: string,
  durable: boolean,
  eachWrite: boolean,
): string {
  return [
    'bind 127.0.0.1',
    `port ${port}`,
    `requirepass ${password}`,
    `dir "${data}"`,
    `pidfile "${pidFile}"`,
    // Its path stays among the arguments, by which an orphan is recognised.
    'set-proc-title no',
    'maxmemory-policy noeviction',
    // Several of the largest replies on their way to one gateway; by default their number would cut its connection.
    'client-output-buffer-limit pubsub 64mb 32mb 10',
    // The append-only file alone keeps the data; with snapshots beside it there would be two truths.
    'save ""',
    `appendonly ${durable ? 'yes' : 'no'}`,
    `appendfsync ${eachWrite ? 'always' : 'everysec'}`,
    '',
  ].join('\n');
}

async function answers(port: number, password: string): Promise<void> {
  const redis = new Redis(port, '127.0.0.1', {
    password,
    lazyConnect: true,
    commandTimeout: 5_000,
    retryStrategy: () => null,
  });
  // The rejection of `connect` says it already.
  redis.on('error', () => {});
  try {
    await redis.connect();
    await redis.ping();
  } finally {
    redis.disconnect();
  }
}
