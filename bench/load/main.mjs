// What a bulk load costs, and what other users notice of it: `npm run bench:load`. Real processes on a Postgres of their own.
//   npm run bench:load -- --users 200 --episodes 500 --parallel 2 --replicas 1
//   npm run bench:load -- --users 10000 --once     one load into new users: what memory does with ten million states
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startSystem } from '../running.system.mjs';
import { cpuTimes } from '../system/cpu.mjs';
import { writeData } from './file.mjs';
import { memoryOf } from './memory.mjs';
import { Neighbours } from './neighbours.mjs';

const number = { type: 'string' };
const { values } = parseArgs({
  options: {
    users: number,
    episodes: number,
    parallel: number,
    replicas: number,
    idle: number,
    once: { type: 'boolean' },
  },
});
const [users, episodes, replicas] = [
  Number(values.users ?? 100),
  Number(values.episodes ?? 1_000),
  Number(values.replicas ?? 1),
];
const idleMs = Number(values.idle ?? 10) * 1_000;
const say = (line) => process.stderr.write(`${line}\n`);

/** Loads a file, with neighbours at work or without. */
async function loaded(system, title, file, neighbours) {
  await system.owner.query('CHECKPOINT');
  neighbours?.begin();
  const before = cpuTimes([system.pid, system.postgresPid]);
  const begun = performance.now();
  const args = ['dist/programs/load.js', ...(values.parallel ? ['--parallel', values.parallel] : []), file];
  const env = { ...process.env, REDIS_URL_FILE: join(system.data, 'redis-url') };
  const loader = spawn(process.execPath, args, { env, stdio: ['ignore', 'inherit', 'inherit'] });
  const memory = memoryOf({ loader: loader.pid, system: system.pid });
  let used = { total: 0 };
  const watch = setInterval(() => {
    memory.look();
    used = cpuTimes([loader.pid]);
  }, 200);
  const [code] = await once(loader, 'exit');
  clearInterval(watch);
  const seconds = (performance.now() - begun) / 1_000;
  const after = cpuTimes([system.pid, system.postgresPid]);
  if (code !== 0) throw new Error(`load ended with ${code}`);
  const states = users * episodes;
  const each = (microseconds) => Math.round(microseconds / states);
  return {
    title,
    'states/s': Math.round(states / seconds),
    'loader µs': each(used.total),
    'services µs': each((after.services ?? 0) - (before.services ?? 0)),
    'Postgres µs': each((after.Postgres ?? 0) - (before.Postgres ?? 0)),
    'Redis µs': each((after.Redis ?? 0) - (before.Redis ?? 0)),
    ...neighbours?.end(),
    ...memory.most(),
  };
}

/** Loads files into new users and known ones, by themselves and beside others. */
async function compared(system) {
  const [warm, fresh, beside, more] = ['warm', 'fresh', 'beside', 'more'].map((name) =>
    join(system.data, `${name}.ndjson`),
  );
  for (const [path, name] of [
    [warm, 'warm'],
    [fresh, 'bench'],
    [beside, 'beside'],
  ])
    await writeData(path, { name, users, episodes });
  // Nine in ten are known.
  await writeData(more, { name: 'bench', users, episodes, firstEpisode: Math.floor(episodes / 10) });
  const neighbours = await Neighbours.start(system);
  const rows = [];
  say('Idle ...');
  neighbours.begin();
  await new Promise((resolve) => setTimeout(resolve, idleMs));
  rows.push({ title: 'idle', ...neighbours.end() });
  // What runs for the first time also connects, plans and compiles.
  await loaded(system, 'warm', warm);
  rows.push(await loaded(system, 'new users', fresh));
  rows.push(await loaded(system, 'the same again', fresh));
  rows.push(await loaded(system, 'one in ten is new', more));
  rows.push(await loaded(system, 'new users, beside others', beside, neighbours));
  rows.push(await loaded(system, 'the same, beside others', beside, neighbours));
  await neighbours.stop();
  return rows;
}

/** Loads one file into new users. */
async function loadedOnce(system) {
  const file = join(system.data, 'new.ndjson');
  say('Writing the file ...');
  await writeData(file, { name: 'new', users, episodes });
  return [await loaded(system, 'new users', file)];
}

const system = await startSystem(say, { replicas });
try {
  const rows = await (values.once ? loadedOnce(system) : compared(system));
  console.log(`${users} users with ${episodes} episodes each, ${replicas} of each service:`);
  console.table(Object.fromEntries(rows.map(({ title, ...row }) => [title, row])));
} finally {
  say('Stopping ...');
  await system.stop();
}
