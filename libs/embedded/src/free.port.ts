import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/**
 * Ports below those that systems give to outgoing connections (from 32,768 up on Linux, from 49,152 on macOS and Windows):
 * one of those may be taken by any connection between the look and its use. So is the port 10,000 above each, which a node
 * of a Redis Cluster listens on, too.
 */
const [first, last] = [12_000, 22_767];
const tries = 100;

/** A TCP port of 127.0.0.1 that nobody listens on at this moment, chosen at random. */
export async function freePort(): Promise<number> {
  for (let n = 0; n < tries; n += 1) {
    const port = randomInt(first, last + 1);
    if (await isFree(port)) return port;
  }
  throw new Error(`no free port among ${tries} from ${first} to ${last}`);
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

const attempts = 10;

/**
 * Starts a server on a free port, and on another one where the port was taken meanwhile.
 *
 * @param start starts it on a port; fails with an error that says so where the address is in use.
 * @throws what `start` throws otherwise.
 */
export async function onFreePort<T>(
  start: (port: number) => Promise<T>,
  choose: () => Promise<number> = freePort,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    const port = await choose();
    try {
      return await start(port);
    } catch (error) {
      if (attempt === attempts || !saysPortIsTaken(error)) throw error;
    }
  }
}

/** As Node, Postgres, Redis and pgbouncer put it. */
function saysPortIsTaken(error: unknown): boolean {
  return error instanceof Error && /EADDRINUSE|address already in use/i.test(error.message);
}
