import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inject } from 'vitest';
import {
  removePostgres,
  removeRedis,
  startPostgres,
  startRedis,
  type EmbeddedServer,
} from '#embedded';
import { eventually } from './eventually.js';
import { database, roleUrls, type RoleUrls } from './migrated-database.js';

/** A Postgres or Redis of one test file, for faults. Its URL never changes. */
export class TestServer {
  constructor(
    private server: EmbeddedServer,
    private readonly startAgain: (port: number) => Promise<EmbeddedServer>,
    private readonly remove: () => Promise<void>,
  ) {}

  get url(): string {
    return this.server.url;
  }

  get port(): number {
    return this.server.port;
  }

  /** Kills the server with SIGKILL, as in a crash. */
  async kill(): Promise<void> {
    process.kill(this.server.pid, 'SIGKILL');
    await this.server.exited;
  }

  stop(): Promise<void> {
    return this.server.stop();
  }

  /** Restarts a killed or stopped server on the same port, with its stored data. */
  async start(): Promise<void> {
    // Repeats the start until the children of a killed Postgres have ended.
    this.server = await eventually(() => this.startAgain(this.server.port));
  }

  /** Suspends the server: connections stay open without answers, as if packets were lost. */
  pause(): void {
    process.kill(this.server.pid, 'SIGSTOP');
  }

  resume(): void {
    process.kill(this.server.pid, 'SIGCONT');
  }

  /** Stops the server in any state and removes its data. Call it in `afterAll`. */
  async dispose(): Promise<void> {
    try {
      this.resume();
    } catch {
      // Ignores that the server has already ended.
    }
    await this.server.stop();
    await this.remove();
  }
}

/**
 * Starts a Redis for one test file.
 *
 * @param durable true to keep data after a restart; a kill can lose the last acknowledged writes.
 * @param fsyncEachWrite true, with `durable`, to lose no acknowledged write.
 */
export async function startRedisServer({
  durable = false,
  fsyncEachWrite = false,
} = {}): Promise<TestServer> {
  const { programs } = inject('servers');
  const directory = mkdtempSync(join(tmpdir(), 'podcast-sync-redis-'));
  const startServer = (port?: number) =>
    startRedis({ directory, port, programs, durable, fsyncEachWrite });
  return new TestServer(await startServer(), startServer, () => removeRedis(directory));
}

/**
 * Starts a Postgres with a migrated database for one test file, for faults. Tests without faults
 * use {@link createDatabase}. A crash loses the last commits, unless `durable`.
 */
export async function startPostgresServer({ durable = false } = {}): Promise<
  TestServer & { urls: RoleUrls }
> {
  const root = mkdtempSync(join(tmpdir(), 'podcast-sync-postgres-'));
  // Lets the user of Postgres reach the folder if root runs the tests.
  chmodSync(root, 0o711);
  const directory = join(root, 'postgres');
  execFileSync('cp', ['-a', inject('servers').postgresFolder, directory]);
  const startServer = (port?: number) => startPostgres({ directory, port, durable, database });
  const server = new TestServer(await startServer(), startServer, async () => {
    await removePostgres(directory);
    rmSync(root, { recursive: true, force: true });
  });
  return Object.assign(server, { urls: roleUrls(server.url) });
}
