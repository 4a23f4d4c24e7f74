import type { DataUser } from '#contracts';
import { namedUserId } from '#identity';
import { connectRedis } from '#redis';
import { createLog, loadConfig, type ProgramIo } from '#runtime';
import { StreamClient } from '#transport';
import { setTimeout as delay } from 'node:timers/promises';
import { FileLoad, type LoadOutcome } from './file-load.js';
import { type LoadOptions, loadProgramConfig } from './load-options.js';

/** Milliseconds without a connection to Redis after which a message is printed. */
const messageAfterMs = 2_000;

/**
 * Loads files one after the other, until the end, SIGINT or SIGTERM.
 *
 * @returns the exit code: 3 if lines were rejected, 1 if the load is incomplete, else 0.
 * @throws Error for an unreadable file, ConfigurationError.
 */
export async function load(options: LoadOptions, io: ProgramIo): Promise<number> {
  const config = loadConfig(loadProgramConfig, io.env);
  const log = createLog('load', 'error');
  const client = new StreamClient({
    services: ['subscription', 'episode'],
    connect: () => connectRedis(config),
    log,
  });
  const stopController = new AbortController();
  const stop = () => stopController.abort();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stop);
  try {
    await waitForConnection(client, stopController.signal, io);
    const outcomes: LoadOutcome[] = [];
    for (const file of options.files) {
      const toUserId = (user: DataUser) => namedUserId(user, config);
      outcomes.push(
        await new FileLoad(file, options, client, toUserId, stopController.signal, io).run(),
      );
      if (outcomes.at(-1) === 'stopped') break;
    }
    if (outcomes.some((outcome) => outcome === 'stopped' || outcome === 'broken')) return 1;
    return outcomes.includes('rejected') ? 3 : 0;
  } finally {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.removeListener(signal, stop);
    await client.close();
  }
}

/** Waits until Redis is connected, and prints a message after {@link messageAfterMs}. */
async function waitForConnection(
  client: StreamClient,
  stopped: AbortSignal,
  io: ProgramIo,
): Promise<void> {
  const connecting = client.connect();
  const isConnected = await Promise.race([
    connecting.then(() => true),
    delay(messageAfterMs, false, { ref: false }),
  ]);
  if (isConnected) return;
  io.stderr.write('load: waiting for Redis: check REDIS_URL and that the system is running\n');
  await Promise.race([
    connecting,
    new Promise((_, reject) =>
      stopped.addEventListener('abort', () =>
        reject(new Error('stopped before Redis was connected')),
      ),
    ),
  ]);
}
