import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/**
 * Range of the ports to choose from, below the ephemeral ports of all systems (from 32,768 on
 * Linux, from 49,152 on macOS and Windows). An outgoing connection could take an ephemeral port
 * before the server starts. A node of a Redis Cluster also listens on its port plus 10,000, which
 * is below the ephemeral ports too.
 */
const [firstPort, lastPort] = [12_000, 22_767];
const maxTries = 100;

/** Returns a random TCP port of 127.0.0.1 without a listener. @throws Error if none is free. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < maxTries; attempt += 1) {
    const port = randomInt(firstPort, lastPort + 1);
    if (await isPortFree(port)) return port;
  }
  throw new Error(`no free port among ${maxTries} from ${firstPort} to ${lastPort}`);
}

function isPortFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

const maxStarts = 10;

/**
 * Starts a server on a free port. If another program has taken the port, retries with other ports,
 * 10 in total.
 *
 * @param start starts the server, and rejects with the system's error if the port is in use.
 * @throws the error of `start` if it has another cause, or if all 10 ports were in use.
 */
export async function startOnFreePort<T>(
  start: (port: number) => Promise<T>,
  choosePort: () => Promise<number> = freePort,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    const port = await choosePort();
    try {
      return await start(port);
    } catch (error) {
      if (attempt === maxStarts || !isPortInUseError(error)) throw error;
    }
  }
}

/** Returns true for the errors of Node, Postgres, Redis and pgbouncer about a port in use. */
function isPortInUseError(error: unknown): boolean {
  return error instanceof Error && /EADDRINUSE|address already in use/i.test(error.message);
}
