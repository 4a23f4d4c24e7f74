import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { fetchDebianProgram, freePort, type Program } from '#embedded';
import { createDatabase, eventually, freshUser, type TestDatabase } from '#testing';
import { Database } from './database.js';
import { createPool } from './pool.js';
import { statement } from './statement.js';

let testDatabase: TestDatabase;
let directory: string;
let pooler: ChildProcess;
let pooled: Database;
let direct: Database;

async function open(url: string, behindPooler: boolean): Promise<Database> {
  const pool = createPool({ url, pooled: behindPooler, applicationName: 'pooler test' });
  await eventually(() => pool.query('SELECT 1'));
  return new Database(pool, !behindPooler);
}

/** Returns the command of PgBouncer: from PATH, else downloaded. */
async function pgbouncer(): Promise<Program> {
  const works = ({ command, env }: Program) =>
    spawnSync(command, ['--version'], { env }).status === 0;
  const installed = { command: 'pgbouncer', env: process.env };
  if (works(installed)) return installed;
  const fetched = await fetchDebianProgram(
    'pgbouncer',
    inject('servers').programs,
    works,
    console.log,
  );
  if (!fetched) throw new Error('PgBouncer is needed on the PATH: it could not be fetched here.');
  return fetched;
}

/** Starts a PgBouncer in transaction mode with two connections to the test's database. */
async function startPooler(target: URL): Promise<string> {
  directory = mkdtempSync(join(tmpdir(), 'podcast-sync-pooler-'));
  chmodSync(directory, 0o755);
  const port = await freePort();
  const [user, password] = [
    decodeURIComponent(target.username),
    decodeURIComponent(target.password),
  ];
  writeFileSync(join(directory, 'users.txt'), `"${user}" "${password}"\n`);
  writeFileSync(
    join(directory, 'pgbouncer.ini'),
    `[databases]\n* = host=${target.hostname} port=${target.port}\n` +
      `[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = ${port}\n` +
      `unix_socket_dir =\nauth_type = plain\nauth_file = ${directory}/users.txt\n` +
      'pool_mode = transaction\ndefault_pool_size = 2\n',
  );
  const asNobody = process.getuid?.() === 0 ? ['-u', 'nobody'] : [];
  const { command, env } = await pgbouncer();
  pooler = spawn(command, ['-q', ...asNobody, join(directory, 'pgbouncer.ini')], {
    env,
    stdio: 'ignore',
  });
  return Object.assign(new URL(target), { port: String(port), hostname: '127.0.0.1' }).href;
}

describe('behind a PgBouncer in transaction mode', () => {
  beforeAll(async () => {
    testDatabase = await createDatabase();
    const target = new URL(testDatabase.urls.episode);
    pooled = await open(await startPooler(target), true);
    direct = await open(target.href, false);
  });
  afterAll(async () => {
    await Promise.all([pooled?.close(), direct?.close()]);
    pooler?.kill();
    rmSync(directory, { recursive: true, force: true });
    await testDatabase.drop();
  });

  const write = (userId: string, requestId: string = randomUUID()) => ({
    userId,
    requestId,
    changes: [] as const,
    smallAnswer: true,
    remainingMs: () => 5_000,
  });

  it('many more concurrent reads and writes than connections succeed', async () => {
    const [user, ids] = [freshUser(), Array.from({ length: 50 }, () => randomUUID())];
    const stamps = await Promise.all(
      ids.map((id, n) =>
        pooled.write(write(n % 2 ? user : freshUser(), id), async ({ stamp }) => stamp),
      ),
    );
    expect(stamps.every((stamp) => /^\d{4}-/.test(stamp))).toBe(true);
    const again = await pooled.write(write(user, ids[1]), async () => 'ran twice');
    expect(again).toBe(stamps[1]);
  });

  it('a transaction leaves no settings on the connection for the next one', async () => {
    await pooled.write(write(freshUser()), async () => 'done');
    const show = statement('test.show', "SELECT current_setting('plan_cache_mode') AS mode");
    for (let n = 0; n < 4; n++) expect(await pooled.read(show, [])).toEqual([{ mode: 'auto' }]);
  });

  it('the limit of the login applies to statements, as without a pooler', async () => {
    const show = statement('test.limit', "SELECT current_setting('statement_timeout') AS limit");
    expect(await pooled.read(show, [])).toEqual(await direct.read(show, []));
  });
});
