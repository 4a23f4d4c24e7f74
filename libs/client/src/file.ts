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

/** Interval in ms of checks for writes of other processes. Network drives send no file events. */
const watchInterval = 500;

/**
 * Returns a store in a JSON file that only its owner can read. Several processes can share it, also
 * on a network file system. Each write replaces the whole file, which suits up to about 10,000
 * episodes.
 *
 * @param path path of the file. The store creates missing folders.
 */
export function fileStore(path: string): Store {
  let cachedFile: { version: string; records: Map<string, Value> } | undefined;
  // Queues the calls of this process, which would otherwise compete for the lock file.
  const withProcessLock = processLocks();
  const watchers = new Set<() => void>();

  /** Returns the version of the file, or `''` without a file. Each write creates a new file. */
  async function readVersion(): Promise<string> {
    const file = await stat(path, { bigint: true }).catch(ignoreMissing);
    return file ? `${file.ino} ${file.mtimeNs} ${file.size}` : '';
  }

  /** Returns all records. Reads the file again and notifies watchers if another process wrote. */
  async function readRecords(): Promise<Map<string, Value>> {
    const version = await readVersion();
    if (cachedFile?.version === version) return cachedFile.records;
    const json = version === '' ? '{}' : await readFile(path, 'utf8');
    const isFirstRead = cachedFile === undefined;
    const records = new Map(Object.entries(JSON.parse(json) as Record<string, Value>));
    cachedFile = { version, records };
    if (!isFirstRead) for (const notify of watchers) notify();
    return records;
  }

  return {
    get: async (key) => structuredClone((await readRecords()).get(key)),
    list: async (prefix) => {
      const entries = [...(await readRecords())].filter(([key]) => key.startsWith(prefix));
      return structuredClone(entries.sort(([one], [other]) => (one < other ? -1 : 1)));
    },
    write: (writes) =>
      withProcessLock('write', () =>
        withFileLock(`${path}.write.lock`, async () => {
          const nextRecords = new Map(await readRecords());
          for (const [key, value] of writes) {
            if (value === undefined) nextRecords.delete(key);
            else nextRecords.set(key, structuredClone(value));
          }
          await replaceFile(path, JSON.stringify(Object.fromEntries(nextRecords)));
          cachedFile = { version: await readVersion(), records: nextRecords };
        }),
      ),
    withLock: (name, run, signal) =>
      withProcessLock(name, () => withFileLock(`${path}.${name}.lock`, run, signal)),
    watch: (listener) => {
      const notify = () => listener();
      const checkForWrites = () => void readRecords().catch(() => {});
      checkForWrites();
      watchers.add(notify);
      const checkTimer = setInterval(checkForWrites, watchInterval);
      checkTimer.unref();
      return () => {
        clearInterval(checkTimer);
        watchers.delete(notify);
      };
    },
  };
}

/** Writes a file atomically: after a crash it has either the old or the new content. */
async function replaceFile(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const temporaryPath = `${path}.${randomUUID()}`;
  const file = await open(temporaryPath, 'wx', 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporaryPath, path);
}

/** Runs a function while this process holds the lock file at `path`. */
async function withFileLock<T>(
  path: string,
  run: () => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  await mkdir(dirname(path), { recursive: true });
  const ownPath = `${path}.${randomUUID()}`;
  const file = await open(ownPath, 'wx', 0o600);
  await file
    .writeFile(JSON.stringify({ host: hostname(), pid: process.pid }))
    .finally(() => file.close());
  try {
    await acquireLock(path, ownPath, signal);
    const heartbeat = setInterval(
      () => void utimes(path, new Date(), new Date()).catch(() => {}),
      heartbeatInterval,
    );
    heartbeat.unref();
    try {
      return await run();
    } finally {
      clearInterval(heartbeat);
      // Removes only this process's lock. Another process can have broken it and acquired its own.
      if (await isSameFile(path, ownPath)) await unlink(path).catch(ignoreMissing);
    }
  } finally {
    await rm(ownPath, { force: true });
  }
}

/** Waits for the lock and acquires it by a hard link. Of concurrent `link` calls, one succeeds. */
async function acquireLock(path: string, ownPath: string, signal?: AbortSignal): Promise<void> {
  const startTime = performance.now();
  let lastSeen = { heartbeat: '', since: 0 };
  for (;;) {
    signal?.throwIfAborted();
    try {
      return await link(ownPath, path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    const heartbeat = await readHeartbeat(path);
    // Measures the silence by this process's clock and not by file times: a holder on a machine
    // that slept gets time for its next heartbeat.
    if (heartbeat !== lastSeen.heartbeat) lastSeen = { heartbeat, since: performance.now() };
    const isSilent = performance.now() - lastSeen.since > maxSilence;
    if (heartbeat && (isSilent || (await isHolderDead(path)))) await breakLock(path, heartbeat);
    else {
      // Waits a tenth of the time waited so far. Most locks are held for milliseconds, but a live
      // sync holds its lock until it stops.
      const delay = Math.min((performance.now() - startTime) / 10, maxLockDelay);
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
  const [oneStats, otherStats] = await Promise.all(
    [one, other].map((path) => stat(path, { bigint: true }).catch(ignoreMissing)),
  );
  return oneStats !== undefined && oneStats.ino === otherStats?.ino;
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
 * Removes the lock of a dead holder. A guard file admits one process at a time, because a second
 * process could remove the lock of a new holder. A guard file that a crash left behind expires.
 */
async function breakLock(path: string, heartbeat: string): Promise<void> {
  const guardPath = `${path}.breaking`;
  try {
    await (await open(guardPath, 'wx', 0o600)).close();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    const guardStats = await stat(guardPath).catch(ignoreMissing);
    if (guardStats && Date.now() - guardStats.mtimeMs > maxSilence)
      await rm(guardPath, { force: true });
    return sleep(5);
  }
  try {
    if ((await readHeartbeat(path)) === heartbeat) await unlink(path).catch(ignoreMissing);
  } finally {
    await rm(guardPath, { force: true });
  }
}

/** Returns `undefined` if the file does not exist. @throws any other error. */
function ignoreMissing(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
}
