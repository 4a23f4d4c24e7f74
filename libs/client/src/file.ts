import { randomUUID } from 'node:crypto';
import { link, mkdir, open, readFile, rename, rm, stat, unlink, utimes } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { processLocks, type Store, type Value } from './store.js';

/** Interval in milliseconds of the heartbeats that the holder of the file lock writes. */
const heartbeatInterval = 2_000;
/** Milliseconds without a heartbeat after which another process removes the lock. */
const maxSilence = 15_000;

/** Maximum delay in milliseconds between two attempts to acquire a lock. */
const maxLockDelay = 500;

/** Interval in ms of polls for writes of other processes: network file systems send no events. */
const watchInterval = 500;

/**
 * Returns a store in a JSON file that only its owner can read. Several processes can share it, also
 * on a network file system. Each write replaces the whole file, which suits up to about 10,000
 * episodes.
 *
 * @param path the file. A missing folder is created.
 */
export function fileStore(path: string): Store {
  let cached: { version: string; records: Map<string, Value> } | undefined;
  // Queues the calls of this process, which would otherwise compete for the lock file.
  const withProcessLock = processLocks();
  const watchers = new Set<() => void>();

  /** Returns the version of the file, or `''` without a file. Each write creates a new file. */
  async function readVersion(): Promise<string> {
    const file = await stat(path, { bigint: true }).catch(ignoreMissing);
    return file ? `${file.ino} ${file.mtimeNs} ${file.size}` : '';
  }

  /** Returns all records. Reads the file again after another process has written. */
  async function readRecords(): Promise<Map<string, Value>> {
    const version = await readVersion();
    if (cached?.version === version) return cached.records;
    const text = version === '' ? '{}' : await readFile(path, 'utf8');
    const isFirst = cached === undefined;
    const records = new Map(Object.entries(JSON.parse(text) as Record<string, Value>));
    cached = { version, records };
    if (!isFirst) for (const notify of watchers) notify();
    return records;
  }

  return {
    get: async (key) => structuredClone((await readRecords()).get(key)),
    list: async (prefix) => {
      const matches = [...(await readRecords())].filter(([key]) => key.startsWith(prefix));
      return structuredClone(matches.sort(([one], [other]) => (one < other ? -1 : 1)));
    },
    write: (writes) =>
      withProcessLock('write', () =>
        withFileLock(`${path}.write.lock`, async () => {
          const next = new Map(await readRecords());
          for (const [key, value] of writes) {
            if (value === undefined) next.delete(key);
            else next.set(key, structuredClone(value));
          }
          await replaceFile(path, JSON.stringify(Object.fromEntries(next)));
          cached = { version: await readVersion(), records: next };
        }),
      ),
    withLock: (name, run, signal) =>
      withProcessLock(name, () => withFileLock(`${path}.${name}.lock`, run, signal)),
    watch: (listener) => {
      const notify = () => listener();
      const poll = () => void readRecords().catch(() => {});
      poll();
      watchers.add(notify);
      const timer = setInterval(poll, watchInterval);
      timer.unref();
      return () => {
        clearInterval(timer);
        watchers.delete(notify);
      };
    },
  };
}

/** Writes a file atomically: after a crash it has either the old or the new content. */
async function replaceFile(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const temporary = `${path}.${randomUUID()}`;
  const file = await open(temporary, 'wx', 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, path);
}

/** Runs a function while this process holds the lock file at `path`. */
async function withFileLock<T>(
  path: string,
  run: () => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  await mkdir(dirname(path), { recursive: true });
  const own = `${path}.${randomUUID()}`;
  const file = await open(own, 'wx', 0o600);
  await file
    .writeFile(JSON.stringify({ host: hostname(), pid: process.pid }))
    .finally(() => file.close());
  try {
    await acquireLock(path, own, signal);
    const heartbeat = setInterval(
      () => void utimes(path, new Date(), new Date()).catch(() => {}),
      heartbeatInterval,
    );
    heartbeat.unref();
    try {
      return await run();
    } finally {
      clearInterval(heartbeat);
      // Removes the lock only if this process still holds it: another process can have broken it.
      if (await isSameFile(path, own)) await unlink(path).catch(ignoreMissing);
    }
  } finally {
    await rm(own, { force: true });
  }
}

/** Waits until the lock is free and acquires it. Of concurrent hard links, one succeeds. */
async function acquireLock(path: string, own: string, signal?: AbortSignal): Promise<void> {
  const started = performance.now();
  let last = { heartbeat: '', since: 0 };
  for (;;) {
    signal?.throwIfAborted();
    try {
      return await link(own, path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    const heartbeat = await readHeartbeat(path);
    // Measures the silence in this process, so that no lock is broken after a machine slept.
    if (heartbeat !== last.heartbeat) last = { heartbeat, since: performance.now() };
    const isSilent = performance.now() - last.since > maxSilence;
    if (heartbeat && (isSilent || (await isHolderDead(path)))) await breakLock(path, heartbeat);
    else {
      // Waits a tenth of the time waited so far: most locks last milliseconds, that of a live sync
      // as long as its process.
      const delay = Math.min((performance.now() - started) / 10, maxLockDelay);
      await sleep(delay + 5 + Math.random() * 20, undefined, { signal });
    }
  }
}

/** Returns a value that changes with the holder and its heartbeats, or `''` for a free lock. */
async function readHeartbeat(path: string): Promise<string> {
  const lock = await stat(path, { bigint: true }).catch(ignoreMissing);
  return lock ? `${lock.ino} ${lock.mtimeNs}` : '';
}

async function isSameFile(one: string, other: string): Promise<boolean> {
  const [first, second] = await Promise.all(
    [one, other].map((path) => stat(path, { bigint: true }).catch(ignoreMissing)),
  );
  return first !== undefined && first.ino === second?.ino;
}

/** Returns true if the holder was a process of this machine that no longer exists. */
async function isHolderDead(path: string): Promise<boolean> {
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
async function breakLock(path: string, heartbeat: string): Promise<void> {
  const guard = `${path}.breaking`;
  try {
    await (await open(guard, 'wx', 0o600)).close();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    const left = await stat(guard).catch(ignoreMissing);
    if (left && Date.now() - left.mtimeMs > maxSilence) await rm(guard, { force: true });
    return sleep(5);
  }
  try {
    if ((await readHeartbeat(path)) === heartbeat) await unlink(path).catch(ignoreMissing);
  } finally {
    await rm(guard, { force: true });
  }
}

/** Returns `undefined` if the file does not exist. @throws any other error. */
function ignoreMissing(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
}
