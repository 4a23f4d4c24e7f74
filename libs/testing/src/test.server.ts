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
import { database, roleUrls, type RoleUrls } from './migrated.database.js';

/** A server of one test file, for faults. Its URL never changes. */
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

  /** Kills it with SIGKILL, as in a crash. */
  async kill(): Promise<void> {
    process.kill(this.server.pid, 'SIGKILL');
    await this.server.exited;
  }

  stop(): Promise<void> {
    return this.server.stop();
  }

  /** Restarts it after {@link kill} or {@link stop}, on the same port, with its stored data. */
  async start(): Promise<void> {
    // The children of a killed Postgres need a moment to end.
    this.server = await eventually(() => this.startAgain(this.server.port));
  }

  /** Freezes it: connections stay open without responses, as in a network that drops packets. */
  pause(): void {
    process.kill(this.server.pid, 'SIGSTOP');
  }

  resume(): void {
    process.kill(this.server.pid, 'SIGCONT');
  }

  /** Stops it in any state and removes its data. Call it in `afterAll`. */
  async dispose(): Promise<void> {
    try {
      this.resume();
    } catch {
      // It has already ended.
    }
    await this.server.stop();
    await this.remove();
  }
}

/**
 * Starts a Redis for one test file. It loses its data when it ends, unless `durable`. Without
 * `eachWrite` a kill can then still lose the last acknowledged writes.
 */
export async function startRedisServer({
  durable = false,
  eachWrite = false,
} = {}): Promise<TestServer> {
  const { programs } = inject('servers');
  const directory = mkdtempSync(join(tmpdir(), 'podcast-sync-redis-'));
  const start = (port?: number) => startRedis({ directory, port, programs, durable, eachWrite });
  return new TestServer(await start(), start, () => removeRedis(directory));
}

/**
 * Starts a Postgres with a migrated database for one test file, for faults; otherwise {@link
 * createDatabase} suffices. A crash loses its last commits, unless `durable`.
 */
export async function startPostgresServer({ durable = false } = {}): Promise<
  TestServer & { urls: RoleUrls }
> {
  const root = mkdtempSync(join(tmpdir(), 'podcast-sync-postgres-'));
  // Postgres' user must reach the folder if root runs the tests.
  chmodSync(root, 0o711);
  const directory = join(root, 'postgres');
  execFileSync('cp', ['-a', inject('servers').postgresFolder, directory]);
  const start = (port?: number) => startPostgres({ directory, port, durable, database });
  const server = new TestServer(await start(), start, async () => {
    await removePostgres(directory);
    rmSync(root, { recursive: true, force: true });
  });
  return Object.assign(server, { urls: roleUrls(server.url) });
}
