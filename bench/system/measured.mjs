import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { cpuTimes } from './cpu.mjs';

const program = (path) => fileURLToPath(new URL(path, import.meta.url));

/**
 * Starts a child that ends with this process.
 *
 * @returns its first message as `said`, and `ask`, which sends a message and returns the answer.
 */
export async function launch(path, environment = {}) {
  const env = { PATH: process.env.PATH, ...environment };
  const child = fork(program(path), [], {
    env,
    execArgv: [],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const ask = (job) => {
    child.send(job);
    return firstMessage(child);
  };
  return { said: await firstMessage(child), ask, stop: () => child.kill() };
}

async function firstMessage(child) {
  const done = new AbortController();
  const exit = once(child, 'exit', done).then(() =>
    Promise.reject(new Error('a process of the bench exited unexpectedly')),
  );
  try {
    const [message] = await Promise.race([once(child, 'message', done), exit]);
    return message;
  } finally {
    done.abort();
  }
}

/** Starts the process that sends the requests. */
export async function startLoad() {
  const { ask, stop } = await launch('load.mjs');
  return { run: ask, stop };
}

/**
 * Loads one of the two systems.
 *
 * @returns requests per second, latencies in ms, errors, and per request: the CPU time of all
 * processes in microseconds by part, and Postgres' WAL bytes and full-page images, which are
 * frequent after a checkpoint.
 */
export async function measure(load, target, { postgresPid, owner }, job) {
  const roots = [...target.pids, postgresPid];
  const [before, logged] = [cpuTimes(roots), await walOf(owner)];
  const { requests, seconds, errors, p50, p99 } = await load.run({ ...job, url: target.baseUrl });
  const after = cpuTimes(roots);
  const { bytes, images } = await walOf(owner);
  const each = Object.keys(after).map((part) => [
    part,
    (after[part] - (before[part] ?? 0)) / (requests || Number.NaN),
  ]);
  const wal = {
    wal: (bytes - logged.bytes) / requests,
    images: (images - logged.images) / requests,
  };
  return { rate: requests / seconds, p50, p99, errors, ...wal, cpu: Object.fromEntries(each) };
}

async function walOf(owner) {
  const { rows } = await owner.query(
    `SELECT (pg_current_wal_insert_lsn() - '0/0')::float8 AS bytes, wal_fpi::float8 AS images
     FROM pg_stat_wal`,
  );
  return rows[0];
}
