// A separate process: the loop of the feed service that fetches. The parent makes feeds due and
// sends a message; the process answers with its cost once no feed is due.
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { createPool, Database } from '#database';
import { AddressGuard, Fetcher } from '#fetch';
import { createLog } from '#runtime';
import { DueWork } from '../../dist/apps/feed/src/due-work.js';
import { FeedRepository } from '../../dist/apps/feed/src/feed.repository.js';
import { FetchLoop } from '../../dist/apps/feed/src/schedule/fetch-loop.js';

const pool = createPool({ url: process.env.DATABASE_URL });
const database = new Database(pool);
const loop = new FetchLoop({
  repository: new FeedRepository(database),
  work: new DueWork(database),
  fetcher: new Fetcher({ userAgent: 'bench', guard: new AddressGuard(['127.0.0.0/8']) }),
  log: createLog('feed', 'warn'),
  apply: { moves: true, guids: true },
  // A claim starts a fifth: all 64 bodies of 20 MB. Pauses between claims would count as
  // CPU time of feeds, because the timer of watchStalls runs on.
  concurrency: 320,
  // Never without validators.
  random: () => 0.5,
});

/** Returns the largest resident memory so far, in MB. */
const peakMemory = () =>
  Number(/^VmHWM:\s+(\d+)/m.exec(readFileSync('/proc/self/status', 'utf8'))[1]) / 1_000;

/** CPU time of the process in milliseconds. */
function cpuMs() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/**
 * Measures the longest iteration of the event loop: the shorter one of its duration and its CPU
 * time, because other processes interrupt this one.
 */
function watchStalls() {
  let stallMs = 0;
  let last = [performance.now(), cpuMs()];
  const timer = setInterval(() => {
    const now = [performance.now(), cpuMs()];
    stallMs = Math.max(stallMs, Math.min(now[0] - last[0], now[1] - last[1]));
    last = now;
  }, 1);
  return () => {
    clearInterval(timer);
    return stallMs;
  };
}

/** Waits until the feeds of a condition are not due. */
async function measure(condition) {
  const cpu = cpuMs();
  const endStalls = watchStalls();
  const due = `SELECT FROM feed.fetches WHERE next_at < now() AND ${condition} LIMIT 1`;
  while ((await pool.query(due)).rowCount > 0) await delay(100);
  await loop.runDue();
  return {
    cpuSeconds: (cpuMs() - cpu) / 1_000,
    stallMs: endStalls(),
    peakMemory: peakMemory(),
  };
}

loop.onModuleInit();
process.send({});
process.on('disconnect', () => process.exit(0));
process.on('message', (condition) => void measure(condition).then((cost) => process.send(cost)));
