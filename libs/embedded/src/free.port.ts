import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/**
 * Range of chosen ports. It is below the ephemeral ports of all systems (from 32,768 on Linux, from
 * 49,152 on macOS and Windows), which any outgoing connection could take before their use. A node
 * of a Redis Cluster also listens on its port plus 10,000, which is below the ephemeral ports too.
 */
const [first, last] = [12_000, 22_767];
const tries = 100;

/** Returns a random TCP port of 127.0.0.1 without a listener. @throws Error if none is free. */
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
 * Starts a server on a free port. If another program has taken the port, retries with other ports,
 * 10 in total.
 *
 * @param start starts it on a port, and fails with the system's error if the port is in use.
 * @throws the error of `start`, if it has another cause or all ports were taken.
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

/** Matches the messages of Node, Postgres, Redis and pgbouncer. */
function saysPortIsTaken(error: unknown): boolean {
  return error instanceof Error && /EADDRINUSE|address already in use/i.test(error.message);
}
