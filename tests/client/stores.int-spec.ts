import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { createApi, memoryStore, type Store, SyncClient } from '#client';
import { fileStore } from '#client/file';
import { eventually, repository } from '#testing';
import { afterAll, describe, expect, test } from 'vitest';

// The rules of a Store (libs/client/src/store.ts). indexeddb.browser-spec.ts tests the one for
// browsers.

const folder = mkdtempSync(join(tmpdir(), 'client-stores-'));
const children: ChildProcess[] = [];
afterAll(() => {
  for (const child of children) child.kill('SIGKILL');
  rmSync(folder, { recursive: true });
});

let files = 0;
const path = () => join(folder, `${files++}`, 'store.json');

describe.each<[string, () => Store]>([
  ['the store in memory', () => memoryStore()],
  ['the store in a file', () => fileStore(path())],
])('%s', (_name, make) => {
  test('stores copies, removes undefined values, and lists keys by prefix in order', async () => {
    const store = make();
    const value = { n: 1 };
    await store.write(
      new Map<string, object | string>([
        ['a/2', value],
        ['a/10', 'text'],
        ['b', {}],
      ]),
    );
    value.n = 2;
    expect(await store.get('a/2')).toEqual({ n: 1 });
    expect(await store.list('a/')).toEqual([
      ['a/10', 'text'],
      ['a/2', { n: 1 }],
    ]);
    const [[, listed]] = (await store.list('a/2')) as [[string, { n: number }]];
    listed.n = 3;
    await store.write(new Map([['b', undefined]]));
    expect([await store.get('a/2'), await store.get('b'), await store.list('c')]).toEqual([
      { n: 1 },
      undefined,
      [],
    ]);
  });

  test('runs one function per lock at a time, also after a failure', async () => {
    const store = make();
    const running: string[] = [];
    const runLocked = (name: string, fails = false) =>
      store.withLock(name, async () => {
        expect(running).not.toContain(name);
        running.push(name);
        await store.get('a');
        running.splice(running.indexOf(name), 1);
        if (fails) throw new Error('failed');
        return name;
      });
    const results = await Promise.allSettled([
      runLocked('x'),
      runLocked('y'),
      runLocked('x', true),
      runLocked('x'),
      runLocked('y'),
    ]);
    expect(results.map(({ status }) => status)).toEqual([
      'fulfilled',
      'fulfilled',
      'rejected',
      'fulfilled',
      'fulfilled',
    ]);
  });
});

/** Starts a process with a store in a file. It runs the built SDK. */
function startProcess(file: string, program: string): ChildProcess {
  const sdk = JSON.stringify(join(repository, 'dist', 'libs', 'client', 'src'));
  const imports = `
    const { createApi, SyncClient } = await import(${sdk} + '/index.js');
    const { fileStore } = await import(${sdk} + '/file.js');
    const store = fileStore(${JSON.stringify(file)});`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', imports + program], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  children.push(child);
  return child;
}

/** Starts a process that holds the lock of a store. */
async function lockHolder(file: string): Promise<ChildProcess> {
  const program = `
    await store.withLock('sync', () => new Promise((resolve) => {
      console.log('locked');
      process.stdin.once('data', () => {
        process.stdin.destroy();
        resolve(store.write(new Map([['by', 'child']])));
      });
    }));`;
  const child = startProcess(file, program);
  await once(child.stdout as Readable, 'data');
  return child;
}

describe('the store in a file', () => {
  test('is shared by processes, which read all writes and wait for the lock', async () => {
    const file = path();
    const store = fileStore(file);
    expect(await store.get('by')).toBeUndefined();
    const child = await lockHolder(file);
    const read = store.withLock('sync', () => store.get('by'));
    child.stdin?.write('go\n');
    expect(await read).toBe('child');
  });

  test('notifies a client of changes by other processes only', async () => {
    const file = path();
    const api = createApi({ baseUrl: 'http://127.0.0.1:9', token: () => 'none', retries: 0 });
    // Two stores are as independent as two processes.
    const [here, there] = [fileStore(file), fileStore(file)];
    const client = new SyncClient({ api, store: here });
    const counts: number[] = [];
    const stop = client.onChange(
      () => void client.subscriptions().then((rows) => counts.push(rows.length)),
    );
    const other = new SyncClient({ api, store: there });
    await other.subscribe('https://a.example/feed');
    await eventually(() => expect(counts.at(-1)).toBe(1));
    stop();
    let count = 0;
    const unwatch = here.watch?.(() => (count += 1));
    await here.write(new Map([['own', 'x']]));
    await there.write(new Map([['foreign', 'x']]));
    await eventually(() => expect(count).toBe(1));
    unwatch?.();
  });

  test('passes the lock of a killed process to one of many waiting ones', async () => {
    const file = path();
    const child = await lockHolder(file);
    const stores = Array.from({ length: 5 }, () => fileStore(file));
    let count = 0;
    const updates = stores.map((store) =>
      store.withLock('sync', async () => {
        const read = Number((await store.get('count')) ?? '0');
        await store.write(new Map([['count', String(read + 1)]]));
        return ++count;
      }),
    );
    child.kill('SIGKILL');
    expect(await Promise.all(updates)).toHaveLength(5);
    expect(await fileStore(file).get('count')).toBe('5');
  });

  test('lets a process stop its live sync while another process has the lock for it', async () => {
    const file = path();
    const api = createApi({ baseUrl: 'http://127.0.0.1:9', token: () => 'none', retries: 0 });
    const leader = new SyncClient({ api, store: fileStore(file) });
    leader.start();
    try {
      await eventually(() => expect(existsSync(`${file}.live.lock`)).toBe(true));
      const child = startProcess(
        file,
        `const api = createApi({ baseUrl: 'http://127.0.0.1:9', token: () => 'none', retries: 0 });
        const client = new SyncClient({ api, store });
        client.start();
        setTimeout(() => client.stop(), 500);`,
      );
      const [code] = (await once(child, 'exit', { signal: AbortSignal.timeout(20_000) })) as [
        number,
      ];
      expect(code).toBe(0);
      // The leader still has its lock. The other process has removed its files.
      const locks = () => readdirSync(dirname(file)).filter((name) => name.includes('.live.lock'));
      await eventually(() => expect(locks()).toHaveLength(2));
    } finally {
      await leader.stop();
    }
  });

  test('is readable by its owner only, without other files next to it', async () => {
    const file = path();
    const store = fileStore(file);
    await store.withLock('sync', () => store.write(new Map([['sign-in/tokens', 'secret']])));
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(join(file, '..'))).toEqual(['store.json']);
  });

  test('with invalid JSON causes an error, and is not overwritten', async () => {
    const file = path();
    const store = fileStore(file);
    await store.write(new Map([['a', 'b']]));
    writeFileSync(file, '{"a":');
    await expect(store.write(new Map([['c', 'd']]))).rejects.toThrow('JSON');
    await expect(fileStore(file).get('a')).rejects.toThrow('JSON');
  });
});
