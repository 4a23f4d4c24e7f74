import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { StartError } from '#embedded';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { checkDirectory, checkServers } from './start-checks.js';

const { adminUrl, redisUrl } = inject('servers');
let folder: string;
let silent: Server;
let silentHost: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'checks-'));
  silent = createServer(() => {});
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  silentHost = `127.0.0.1:${(silent.address() as AddressInfo).port}`;
  await asOwner(`CREATE ROLE checks_plain LOGIN PASSWORD 'plain'`);
});
afterAll(async () => {
  await asOwner('DROP ROLE checks_plain');
  silent.close();
  rmSync(folder, { recursive: true, force: true });
});

async function asOwner(sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: adminUrl });
  await client.connect();
  await client.query(sql);
  await client.end();
}

const postgres = (change: Partial<URL>) => Object.assign(new URL(adminUrl), change).href;
const plain = { username: 'checks_plain', password: 'plain' };

describe('checkServers', () => {
  it('returns whether the owner of the database can create roles', async () => {
    expect(await checkServers({ POSTGRES_URL: adminUrl, REDIS_URL: redisUrl })).toBe(true);
    expect(await checkServers({})).toBe(true);
  });

  it.each([
    [
      'an unreachable Postgres',
      () => ({ POSTGRES_URL: postgres({ host: '127.0.0.1:1' }) }),
      'ECONNREFUSED',
    ],
    [
      'a Postgres that does not answer',
      () => ({ POSTGRES_URL: postgres({ host: silentHost }) }),
      'timeout',
    ],
    [
      'a wrong password',
      () => ({ POSTGRES_URL: postgres({ ...plain, password: 'x' }) }),
      'checks_plain',
    ],
    ['a missing database', () => ({ POSTGRES_URL: postgres({ pathname: '/nowhere' }) }), 'nowhere'],
    [
      'a user who does not own the database',
      () => ({ POSTGRES_URL: postgres(plain) }),
      'ALTER DATABASE',
    ],
    ['an unreachable Redis', () => ({ REDIS_URL: 'redis://:secret@127.0.0.1:1' }), 'ECONNREFUSED'],
    [
      'a Redis that does not answer',
      () => ({ REDIS_URL: `redis://:secret@${silentHost}` }),
      'imed out',
    ],
  ])('names the setting for %s in time, without the password', async (_, options, reason) => {
    const started = performance.now();
    const error = await checkServers(options()).catch((cause: unknown) => cause);
    expect(error).toBeInstanceOf(StartError);
    const { message } = error as StartError;
    expect(message).toMatch(new RegExp(`^${Object.keys(options())[0]}: `));
    expect(message).toContain(reason);
    expect(message).not.toContain('secret');
    // The limit is 3 s.
    expect(performance.now() - started).toBeLessThan(30_000);
  });
});

describe('checkDirectory', () => {
  it('creates the directory and leaves no files in it', () => {
    checkDirectory(join(folder, 'a', 'b'));
    expect(readdirSync(join(folder, 'a', 'b'))).toEqual([]);
  });

  it.each([
    ['a file', () => join(folder, 'file')],
    ['below a file', () => join(folder, 'file', 'data')],
    ['on a file system without new directories', () => '/proc/data'],
  ])('names a directory that is %s, and the option to choose another', (_, directory) => {
    writeFileSync(join(folder, 'file'), '');
    expect(() => checkDirectory(directory())).toThrow(StartError);
    expect(() => checkDirectory(directory())).toThrow(
      `The data directory ${directory()} can't be used: `,
    );
    expect(() => checkDirectory(directory())).toThrow('--data DIR');
  });
});
