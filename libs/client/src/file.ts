import { randomUUID } from 'node:crypto';
import { link, mkdir, open, readFile, rename, rm, stat, unlink, utimes } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Store, turns, type Value } from './store.js';

/** Interval of a lock holder's heartbeats, and the silence that breaks its lock, in ms. */
const beat = 2_000;
const longestSilence = 15_000;

/** Poll interval for writes by other processes, in ms. Network file systems send no events. */
const watchEvery = 500;

/**
 * Returns a store in a JSON file that only its owner can read. Several processes can share it, also
 * on a network file system. Each write replaces the whole file, so it suits some ten thousand
 * episodes.
 *
 * @param path the file. A missing folder is created.
 */
export function fileStore(path: string): Store {
  let read: { identity: string; records: Map<string, Value> } | undefined;
  const own = turns();
  const watchers = new Set<() => void>();

  /** Returns an identity of the current file. Each write creates a new file. */
  async function identify(): Promise<string> {
    const found = await stat(path, { bigint: true }).catch(absent);
    return found ? `${found.ino} ${found.mtimeNs} ${found.size}` : '';
  }

  /** Returns all records. Reads the file again after another process has written. */
  async function records(): Promise<Map<string, Value>> {
    const identity = await identify();
    if (read?.identity === identity) return read.records;
    const text = identity === '' ? '{}' : await readFile(path, 'utf8');
    const before = read;
    const fresh = new Map(Object.entries(JSON.parse(text) as Record<string, Value>));
    read = { identity, records: fresh };
    if (before) for (const notify of watchers) notify();
    return fresh;
  }

  return {
    get: async (key) => structuredClone((await records()).get(key)),
    list: async (prefix) => {
      const found = [...(await records())].filter(([key]) => key.startsWith(prefix));
      return structuredClone(found.sort(([one], [other]) => (one < other ? -1 : 1)));
    },
    write: (writes) =>
      own('write', () =>
        locked(`${path}.write.lock`, async () => {
          const next = new Map(await records());
          for (const [key, value] of writes) {
            if (value === undefined) next.delete(key);
            else next.set(key, structuredClone(value));
          }
          await replace(path, JSON.stringify(Object.fromEntries(next)));
          read = { identity: await identify(), records: next };
        }),
      ),
    alone: (name, run) => own(name, () => locked(`${path}.${name}.lock`, run)),
    watch: (listener) => {
      const notify = () => listener();
      const look = () => void records().catch(() => {});
      look();
      watchers.add(notify);
      const timer = setInterval(look, watchEvery);
      timer.unref();
      return () => {
        clearInterval(timer);
        watchers.delete(notify);
      };
    },
  };
}

/** Writes a file atomically: after a crash it has either the old or the new content. */
async function replace(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const fresh = `${path}.${randomUUID()}`;
  const file = await open(fresh, 'wx', 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(fresh, path);
}

/** Runs a function while holding a lock file that other processes respect. */
async function locked<T>(path: string, run: () => Promise<T>): Promise<T> {
  await mkdir(dirname(path), { recursive: true });
  const mine = `${path}.${randomUUID()}`;
  const file = await open(mine, 'wx', 0o600);
  await file
    .writeFile(JSON.stringify({ host: hostname(), pid: process.pid }))
    .finally(() => file.close());
  try {
    await taken(path, mine);
    const alive = setInterval(
      () => void utimes(path, new Date(), new Date()).catch(() => {}),
      beat,
    );
    alive.unref();
    try {
      return await run();
    } finally {
      clearInterval(alive);
      // Another process can hold the lock if it considered this one dead.
      if (await isSameFile(path, mine)) await unlink(path).catch(absent);
    }
  } finally {
    await rm(mine, { force: true });
  }
}

/** Waits until the lock is free and takes it. Of concurrent `link` calls only one succeeds. */
async function taken(path: string, mine: string): Promise<void> {
  let seen = { holder: '', since: 0 };
  for (;;) {
    try {
      return await link(mine, path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    const found = await stat(path, { bigint: true }).catch(absent);
    const holder = found ? `${found.ino} ${found.mtimeNs}` : '';
    // The time is measured in this process, so that a suspended machine breaks no lock.
    if (holder !== seen.holder) seen = { holder, since: performance.now() };
    const isSilent = performance.now() - seen.since > longestSilence;
    if (holder && (isSilent || (await isDead(path)))) await breakLock(path, holder);
    else await sleep(5 + Math.random() * 20);
  }
}

async function isSameFile(one: string, other: string): Promise<boolean> {
  const [found, expected] = await Promise.all(
    [one, other].map((path) => stat(path, { bigint: true }).catch(absent)),
  );
  return found !== undefined && found.ino === expected?.ino;
}

/** Returns true if the holder was a process of this machine that no longer exists. */
async function isDead(path: string): Promise<boolean> {
  try {
    const { host, pid } = JSON.parse(await readFile(path, 'utf8')) as { host: string; pid: number };
    if (host !== hostname()) return false;
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}

/**
 * Removes the lock of a dead holder. A guard file admits one process at a time; a second one could
 * remove the lock of a new live holder. A guard left by a crash expires.
 */
async function breakLock(path: string, holder: string): Promise<void> {
  const guard = `${path}.breaking`;
  try {
    await (await open(guard, 'wx', 0o600)).close();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    const found = await stat(guard).catch(absent);
    if (found && Date.now() - found.mtimeMs > longestSilence) await rm(guard, { force: true });
    return sleep(5);
  }
  try {
    const found = await stat(path, { bigint: true }).catch(absent);
    if (found && `${found.ino} ${found.mtimeNs}` === holder) await unlink(path).catch(absent);
  } finally {
    await rm(guard, { force: true });
  }
}

/** Returns `undefined` if the file does not exist. @throws any other error. */
function absent(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
}
