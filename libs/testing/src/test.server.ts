import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inject } from 'vitest';
import { removePostgres, removeRedis, startPostgres, startRedis, type EmbeddedServer } from '#embedded';
import { eventually } from './eventually.js';
import { migrate, roleUrls, type RoleUrls } from './migrated.database.js';

/** A server of one test file, that faults are made with. Its URL stays the same all its life. */
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

  /** Ends it as a crash would. */
  async kill(): Promise<void> {
    process.kill(this.server.pid, 'SIGKILL');
    await this.server.exited;
  }

  /** Stops it in order. */
  stop(): Promise<void> {
    return this.server.stop();
  }

  /** Starts it again after {@link kill} or {@link stop}, on the same port, with the data that it had kept. */
  async start(): Promise<void> {
    // What a killed Postgres leaves behind needs a moment to notice and go.
    this.server = await eventually(() => this.startAgain(this.server.port));
  }

  /** Connections stay open and nothing is answered, as with a network that swallows packets. */
  pause(): void {
    process.kill(this.server.pid, 'SIGSTOP');
  }

  /** Ends {@link pause}. */
  resume(): void {
    process.kill(this.server.pid, 'SIGCONT');
  }

  /** Ends it in whatever state it is and removes its data; to be called in `afterAll`. */
  async dispose(): Promise<void> {
    try {
      this.resume();
    } catch {
      // It has ended already.
    }
    await this.server.stop();
    await this.remove();
  }
}

/**
 * A Redis for one test file. It forgets everything when it ends, unless `durable`; what it acknowledged just before a kill
 * it may forget even then, where the disk is busy, unless `eachWrite`.
 */
export async function startRedisServer({ durable = false, eachWrite = false } = {}): Promise<TestServer> {
  const { programs } = inject('servers');
  const directory = mkdtempSync(join(tmpdir(), 'podcast-sync-redis-'));
  const start = (port?: number) => startRedis({ directory, port, programs, durable, eachWrite });
  return new TestServer(await start(), start, () => removeRedis(directory));
}

/**
 * A Postgres with a migrated database for one test file, where {@link createDatabase} isn't enough: for its faults. A
 * crash costs it its last commits, unless `durable`.
 */
export async function startPostgresServer({ durable = false } = {}): Promise<TestServer & { urls: RoleUrls }> {
  const root = mkdtempSync(join(tmpdir(), 'podcast-sync-postgres-'));
  // Reachable for the user that Postgres runs as when root runs the tests.
  chmodSync(root, 0o711);
  const directory = join(root, 'postgres');
  const start = (port?: number) => startPostgres({ directory, port, durable, database: 'podcast_sync' });
  const server = new TestServer(await start(), start, async () => {
    await removePostgres(directory);
    rmSync(root, { recursive: true, force: true });
  });
  await migrate(server.url);
  return Object.assign(server, { urls: roleUrls(server.url) });
}
