// How fast a dump is, what memory it takes, and what others notice of it: `npm run bench:dump`, with `-- --rows 10000000`
// for the episode states there are. One user has a tenth of them, the others 2,000 each.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { copyEpisodes } from '../growth/copy.mjs';
import { progressBar } from '../growth/progress.mjs';
import { seedUsers } from '../growth/seed.mjs';
import { circumstances, quantile, say, table } from '../report.mjs';
import { startSystem } from '../running.system.mjs';

const { values } = parseArgs({ options: { rows: { type: 'string', default: '1000000' } } });
const rows = Number(values.rows);
const usual = { subscriptions: 50, states: 2_000 };
/** How often memory is looked at, and how long probes rest, in milliseconds. */
const pauseMs = 20;
/** How long they go on beside nothing, in milliseconds. */
const idleMs = 15_000;

const pause = () => new Promise((resolve) => setTimeout(resolve, pauseMs));
const overAfter = (ms) => {
  const end = performance.now() + ms;
  return () => performance.now() > end;
};

async function seed(system) {
  const sizes = [rows / 10, ...Array.from({ length: (rows * 0.9) / usual.states }, () => usual.states)];
  const users = [];
  while (users.length < sizes.length) {
    const count = Math.min(500, sizes.length - users.length);
    users.push(...(await seedUsers(system, { users: count, subscribed: usual.subscriptions, uploaded: 0 })));
  }
  for (const [n, user] of users.entries()) user.states = sizes[n];
  const indexes = await copyEpisodes(system.owner, users, progressBar('Episode states', rows));
  for (const { definition } of indexes) await system.owner.query(definition.replace(' ON ONLY ', ' ON '));
  await system.owner.query('VACUUM ANALYZE');
}

/** Other users' polls and uploads, one after the other, until `isOver`. @returns how long each took, in ms. */
async function probed(system, users, isOver) {
  const times = { poll: [], upload: [] };
  const time = async (what, call) => {
    const begun = performance.now();
    await call();
    times[what].push(performance.now() - begun);
  };
  for (let n = 0; !isOver(); n += 1) {
    const user = users[n % users.length];
    const timestamp = new Date().toISOString();
    const episodes = user.episodes.map((entry) => ({ ...entry, playback_position: { value: n, timestamp } }));
    await time('poll', () => system.call(user, 'GET', '/episodes?since=2026-01-02T00:00:00Z', 200));
    await time('upload', () => system.call(user, 'POST', '/episodes', 200, { episodes }));
    await pause();
  }
  return times;
}

/** Runs the program. @returns how long it took, the most memory it had in each half of that in MB, and what it wrote. */
async function dumped(system, out) {
  const begun = performance.now();
  const child = spawn(process.execPath, ['dist/programs/dump.js', '--out', out], {
    env: { ...process.env, DATABASE_URL_FILE: join(system.data, 'dump-database-url') },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const memory = [];
  const looks = setInterval(() => {
    const [, kilobytes] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8')) ?? [];
    if (kilobytes) memory.push(kilobytes / 1_024);
  }, pauseMs);
  const [code] = await once(child, 'exit');
  clearInterval(looks);
  if (code !== 0) throw new Error(`the dump ended with ${code}`);
  const seconds = (performance.now() - begun) / 1_000;
  const most = (part) => Math.round(Math.max(...part));
  const half = memory.length / 2;
  return { seconds, memory: [most(memory.slice(0, half)), most(memory.slice(half))], bytes: statSync(out).size };
}

/** The median and the 99th percentile of what probes took, in ms. */
const took = (probes, what) => [0.5, 0.99].map((share) => quantile(probes[what], share).toFixed(1));

const folder = mkdtempSync(join(tmpdir(), 'podcast-sync-dump-'));
const system = await startSystem(say);
try {
  const header = await circumstances(system.owner, ['pg']);
  await seed(system);
  const others = await seedUsers(system, { users: 20, subscribed: usual.subscriptions, uploaded: 100 });
  await probed(system, others, overAfter(idleMs / 3));
  say('Probing beside nothing ...');
  const idle = await probed(system, others, overAfter(idleMs));
  const lines = [];
  const beside = { poll: [took(idle, 'poll')], upload: [took(idle, 'upload')] };
  for (const [what, name] of [
    ['plain', 'users.ndjson'],
    ['compressed', 'users.ndjson.gz'],
  ]) {
    say(`Dumping, ${what}, beside nothing and beside probes ...`);
    const alone = await dumped(system, join(folder, `alone-${name}`));
    let isOver = false;
    const dumping = dumped(system, join(folder, name)).finally(() => (isOver = true));
    const probes = await probed(system, others, () => isOver);
    const { seconds } = await dumping;
    const rate = (time) => Math.round(rows / time).toLocaleString('en');
    const megabytes = (alone.bytes / 2 ** 20).toFixed(0);
    lines.push([what, rate(alone.seconds), rate(seconds), megabytes, ...alone.memory]);
    for (const each of ['poll', 'upload']) beside[each].push(took(probes, each));
  }
  console.log(`${header}${rows.toLocaleString('en')} episode states\n`);
  const head = ['dump', 'states/s', 'beside probes', 'MB written', 'MB of memory, first half', 'second half'];
  console.log(table(head, lines));
  const probes = Object.entries(beside).map(([what, found]) => [what, ...found.map((both) => both.join(' / '))]);
  console.log(`\n${table(['others, p50 / p99 in ms', 'idle', 'beside a plain dump', 'a compressed one'], probes)}`);
} finally {
  say('Stopping ...');
  await system.stop();
  rmSync(folder, { recursive: true, force: true });
}
