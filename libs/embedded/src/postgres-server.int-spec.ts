import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { removePostgres, StartError, startPostgres } from './index.js';

const asRoot = process.getuid?.() === 0;

let root: string;
let directory: string;

// One data directory for all tests, as its creation takes longer than the rest.
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'embedded-postgres-'));
  chmodSync(root, 0o711);
  directory = join(root, 'postgres');
});

afterAll(async () => {
  await removePostgres(directory);
  rmSync(root, { recursive: true, force: true });
});

function start(options: { port?: number } = {}) {
  return startPostgres({ directory, database: 'podcast_sync', durable: false, ...options });
}

async function query(url: string, statement: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  try {
    return (await client.query({ text: statement, rowMode: 'array' })).rows.flat();
  } finally {
    await client.end();
  }
}

describe('startPostgres', () => {
  it('creates a database with byte order and Unicode, in its own process group', async () => {
    const server = await start();
    expect(await query(server.url, "SELECT current_database(), upper('ä'), 'a' < 'B'")).toEqual([
      'podcast_sync',
      'Ä',
      false,
    ]);
    await query(server.url, 'CREATE TABLE kept AS SELECT 7 AS n');
    // A separate process group, which a terminal's Ctrl-C does not reach.
    expect(process.kill(-server.pid, 0)).toBe(true);
    await server.stop();
    expect(() => process.kill(-server.pid, 0)).toThrow(/ESRCH/);
  });

  it('stops an orphan on its directory, and finds the data of earlier starts', async () => {
    const orphan = await start();
    const next = await start();
    expect(await orphan.exited).toBe('exit code 0');
    expect(await query(next.url, 'SELECT n FROM kept')).toEqual([7]);
    await next.stop();
  });

  it('logs no values of rows with an error', async () => {
    const server = await start();
    await query(server.url, 'CREATE TABLE words (word text PRIMARY KEY)');
    const add = "INSERT INTO words SELECT reverse('tnelis')";
    await query(server.url, add);
    await expect(query(server.url, add)).rejects.toMatchObject({
      detail: expect.stringContaining('silent') as string,
    });
    await server.stop();
    const log = readFileSync(join(directory, 'postgres.log'), 'utf8');
    expect(log).toContain('duplicate key');
    expect(log).not.toContain('silent');
  });

  it('starts despite a pid file of another program, and requires the password', async () => {
    const first = await start();
    const pidFile = join(directory, 'data', 'postmaster.pid');
    const content = readFileSync(pidFile, 'utf8');
    await first.stop();
    writeFileSync(pidFile, content.replace(String(first.pid), String(process.ppid)));
    const second = await start();
    expect(await query(second.url, 'SELECT 1')).toEqual([1]);
    const wrong = Object.assign(new URL(second.url), { password: 'wrong' }).href;
    await expect(query(wrong, 'SELECT 1')).rejects.toThrow(/password authentication failed/);
    expect(statSync(join(directory, 'password')).mode & 0o777).toBe(0o600);
    await second.stop();
  });

  it('rejects a port that is in use', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const failure = await start({ port }).catch((error: unknown) => error);
    other.close();
    expect(failure).toBeInstanceOf(StartError);
    expect((failure as StartError).message).toMatch(/Address already in use/);
  });

  it.runIf(asRoot)(
    'as root below a folder that others cannot enter, keeps its data elsewhere and says where',
    async () => {
      await removePostgres(directory);
      chmodSync(root, 0o700);
      const lines: string[] = [];
      const first = await startPostgres({
        directory,
        durable: false,
        reportProgress: (line) => lines.push(line),
      });
      await query(first.url, 'CREATE TABLE kept AS SELECT 7 AS n');
      await first.stop();
      const place = readFileSync(join(directory, 'location'), 'utf8').trim();
      expect(place).toMatch(/^\/var\/lib\/podcast-sync\/[0-9a-f-]{36}$/);
      expect(lines.join('\n')).toContain(place);
      expect(statSync(place)).toMatchObject({ mode: 0o40700 });
      expect(statSync(place).uid).not.toBe(0);

      const second = await startPostgres({ directory, durable: false });
      expect(await query(second.url, 'SELECT n FROM kept')).toEqual([7]);
      await second.stop();
      await removePostgres(directory);
      expect(existsSync(place)).toBe(false);
    },
  );
});
