import { randomUUID } from 'node:crypto';
import { link, mkdir, open, readFile, rename, rm, stat, unlink, utimes } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Store, turns, type Value } from './store.js';

/** How often a holder says that it lives, and how long one that does not is waited for, in milliseconds. */
const beat = 2_000;
const longestSilence = 15_000;

/** How often a watcher looks whether another process has written, in milliseconds. A network's file system sends no events. */
const watchEvery = 500;

/**
 * A store in a JSON file, which only its owner may read. Several processes may share it, also over a network's file system. Each write
 * replaces the file as a whole: good for some ten thousand episodes.
 *
 * @param path its folder is made where it is not there.
 */
export function fileStore(path: string): Store {
  let read: { identity: string; records: Map<string, Value> } | undefined;
  const own = turns();
  const watchers = new Set<() => void>();

  /** Names the present file: each write makes another one. */
  async function identify(): Promise<string> {
    const found = await stat(path, { bigint: true }).catch(absent);
    return found ? `${found.ino} ${found.mtimeNs} ${found.size}` : '';
  }

  /** Returns everything, read again after another process has written. */
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

/** Writes a file so that a crash leaves the old one or the new one. */
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

/** Runs something while no other process runs something with the same lock file. */
async function locked<T>(path: string, run: () => Promise<T>): Promise<T> {
  await mkdir(dirname(path), { recursive: true });
  const mine = `${path}.${randomUUID()}`;
  const file = await open(mine, 'wx', 0o600);
  await file.writeFile(JSON.stringify({ host: hostname(), pid: process.pid })).finally(() => file.close());
  try {
    await taken(path, mine);
    const alive = setInterval(() => void utimes(path, new Date(), new Date()).catch(() => {}), beat);
    alive.unref();
    try {
      return await run();
    } finally {
      clearInterval(alive);
      // Another one's, where this process was taken for dead.
      if (await isSameFile(path, mine)) await unlink(path).catch(absent);
    }
  } finally {
    await rm(mine, { force: true });
  }
}

/** Waits until the lock is free and takes it: of several who link only one succeeds. */
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
    // Measured while this process runs: a machine that slept made no holder silent.
    if (holder !== seen.holder) seen = { holder, since: performance.now() };
    const isSilent = performance.now() - seen.since > longestSilence;
    if (holder && (isSilent || (await isDead(path)))) await breakLock(path, holder);
    else await sleep(5 + Math.random() * 20);
  }
}

async function isSameFile(one: string, other: string): Promise<boolean> {
  const [found, expected] = await Promise.all([one, other].map((path) => stat(path, { bigint: true }).catch(absent)));
  return found !== undefined && found.ino === expected?.ino;
}

/** Whether the holder was a process of this machine that is no more. */
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
 * Takes the lock from a dead holder. One breaks at a time: who comes second would take it from a live one, who was quicker. A
 * guard that somebody died with goes after a while.
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

/** @throws whatever does not say that there is no such file. */
function absent(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
}
