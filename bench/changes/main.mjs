// What streams of changes cost: `npm run bench:changes`, with `-- --streams 10000 --seconds 60`.
// - One gateway, each stream of a user of its own, all of them idle: memory of the gateway for each, its CPU, and how soon an
//   upload is heard of on one of them.
// - What it costs a service and Redis to tell of a commit, while nobody listens and while somebody does.
// Needs a build, Linux, and as many open files (`ulimit -Hn`) as streams, and some: here and in the gateway, which Node
// raises to the hard limit by itself.
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { ClockHints, connectRedis, createLog, redisConfig } from '#runtime';
import { circumstances, quantile, say, table } from '../report.mjs';
import { startSystem } from '../running.system.mjs';

const { values: options } = parseArgs({
  options: {
    streams: { type: 'string', default: '10000' },
    seconds: { type: 'string', default: '60' },
    hints: { type: 'string', default: '100000' },
  },
});
const [streams, seconds, hints] = [options.streams, options.seconds, options.hints].map(Number);

/** The gateway below a process. */
function gatewayBelow(root) {
  const isIts = (pid) => {
    try {
      const [, parent] = readFileSync(`/proc/${pid}/stat`, 'utf8')
        .replace(/^.*\) /s, '')
        .split(' ');
      return Number(parent) === root && /gateway\.js/.test(readFileSync(`/proc/${pid}/cmdline`, 'utf8'));
    } catch {
      return false;
    }
  };
  return readdirSync('/proc').find((name) => /^\d+$/.test(name) && isIts(name));
}

/** Resident memory of a process, in kB. */
const memory = (pid) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) * 1.024;

/** Seconds of CPU that a process has used. */
function used(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

/** Opens a stream and waits for its first stamp. */
async function open(port, token) {
  const socket = connect(port, '127.0.0.1');
  socket.write(`GET /changes HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer ${token}\r\n\r\n`);
  const stream = { socket, heard: 0, onHint: () => {} };
  await new Promise((resolve, reject) => {
    socket.on('error', reject).on('close', () => reject(new Error('a stream was closed')));
    socket.setEncoding('utf8').on('data', (text) => {
      if (/^HTTP\/1\.1 [^2]/.test(text)) reject(new Error(text.split('\r\n', 1)[0]));
      if (!text.includes('event: changed')) return;
      stream.heard += 1;
      stream.onHint(performance.now());
      resolve();
    });
  });
  return stream;
}

const system = await startSystem(say, { environment: { MAX_STREAMS: String(streams + 100) } });
try {
  const head = await circumstances(system.owner);
  const port = Number(new URL(system.baseUrl).port);
  const gateway = gatewayBelow(system.pid);
  const users = [];
  for (let n = 0; n < streams; n += 1) users.push(await system.user());
  // What a process has of code and buffers once it has done it is not what a stream costs.
  say('Warming up ...');
  for (let round = 0; round < 5; round += 1) {
    const some = await Promise.all(users.slice(0, 100).map(({ token }) => open(port, token)));
    for (const { socket } of some) socket.destroy();
  }
  await delay(30_000);
  const before = memory(gateway);
  say(`The gateway has ${Math.round(before / 1_000)} MB; opening ${streams} streams ...`);
  const opened = [];
  const beganAt = performance.now();
  for (let from = 0; from < streams; from += 50) {
    opened.push(...(await Promise.all(users.slice(from, from + 50).map(({ token }) => open(port, token)))));
    if (opened.length % 1_000 === 0) say(`  ${opened.length} are open: ${Math.round(memory(gateway) / 1_000)} MB`);
  }
  const openMs = performance.now() - beganAt;
  await delay(30_000);
  const [idleFrom, from] = [used(gateway), performance.now()];
  say(`Watching them for ${seconds} s ...`);
  await delay(seconds * 1_000);
  const idle = (used(gateway) - idleFrom) / ((performance.now() - from) / 1_000);
  const after = memory(gateway);

  say('Writing beside them ...');
  const waits = [];
  for (const [n, stream] of opened.slice(0, 200).entries()) {
    const heard = new Promise((resolve) => (stream.onHint = resolve));
    await system.call(users[n], 'POST', '/subscriptions', 200, {
      subscriptions: [{ feed_url: `https://feeds.example/${randomUUID()}` }],
    });
    const answered = performance.now();
    waits.push((await heard) - answered);
  }
  const closed = opened.filter(({ socket }) => socket.destroyed).length;
  for (const { socket } of opened) socket.removeAllListeners('close').destroy();

  say('Telling of commits ...');
  const redisUrl = readFileSync(`${system.data}/redis-url`, 'utf8').trim();
  const config = redisConfig.parse({ REDIS_URL: redisUrl });
  const [teller, watcher, listener] = [connectRedis(config), connectRedis(config), connectRedis(config)];
  await Promise.all([teller, watcher, listener].map((redis) => once(redis, 'ready')));
  const told = new ClockHints(teller, createLog('bench', 'warn'));
  const redisUsed = async () => {
    const text = await watcher.info('cpu');
    const of = (name) => Number(new RegExp(`${name}:([\\d.]+)`).exec(text)[1]);
    return (of('used_cpu_sys') + of('used_cpu_user')) * 1e6;
  };
  /** Microseconds of CPU for one hint: here, and of Redis. */
  const cost = async () => {
    const [own, server] = [process.cpuUsage(), await redisUsed()];
    for (let n = 0; n < hints; n += 1) {
      told.tell(users[n % 1_000].id, '2026-01-01T00:00:00.000Z');
      // One in each tick, as commits come.
      await new Promise((resolve) => setImmediate(resolve));
      if (n % 100 === 99) await teller.ping();
    }
    if (told.counts.dropped > 0) throw new Error('hints were dropped');
    const { user, system: kernel } = process.cpuUsage(own);
    return [(user + kernel) / hints, ((await redisUsed()) - server) / hints];
  };
  const ticks = async () => {
    const own = process.cpuUsage();
    for (let n = 0; n < hints; n += 1) await new Promise((resolve) => setImmediate(resolve));
    const { user, system: kernel } = process.cpuUsage(own);
    return (user + kernel) / hints;
  };
  await cost();
  const empty = await ticks();
  const alone = await cost();
  await listener.subscribe(...users.slice(0, 1_000).map(({ id }) => `clock:${id}`));
  const heard = await cost();
  for (const redis of [teller, watcher, listener]) redis.disconnect();

  console.log(head);
  const kilobytes = (after - before) / streams;
  console.log(
    table(
      [`${streams} idle streams on one gateway`, ''],
      [
        ['memory of the gateway before, MB', Math.round(before / 1_000)],
        ['with them, MB', Math.round(after / 1_000)],
        ['for each, kB', kilobytes.toFixed(1)],
        ['CPU of one core, %', (idle * 100).toFixed(1)],
        ['opened in a second', Math.round((streams / openMs) * 1_000)],
        ['closed meanwhile', closed],
        ["heard of after the write's answer, ms: median", quantile(waits, 0.5).toFixed(1)],
        ['the slowest of a hundred', quantile(waits, 0.99).toFixed(1)],
      ],
    ),
  );
  console.log(
    `\n${table(
      ['one hint, µs of CPU', 'service', 'Redis'],
      [
        ['nobody listens', (alone[0] - empty).toFixed(0), alone[1].toFixed(0)],
        ['a gateway listens', (heard[0] - empty).toFixed(0), heard[1].toFixed(0)],
      ],
    )}`,
  );
  if (kilobytes > 30 || idle > 0.05 || closed > 0) process.exitCode = 1;
} finally {
  await system.stop();
}
