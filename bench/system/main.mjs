// Measures the cost of the system relative to the floor (bench/floor), in turns: `npm run bench`,
// with these options after `--`. Needs Linux, whose /proc has the CPU times.
//   --quick       a smoke test
//   --rounds 5    medians of this many rounds
//   --seconds 2   duration of a measurement
//   --at 16       requests in flight
//   --only PATCH  only cases whose names match
import { parseArgs } from 'node:util';
import { startFloor } from '../floor/floor.mjs';
import { circumstances, say } from '../report.mjs';
import { Client, startSystem } from '../running-system.mjs';
import { compareAnswers } from './answers.mjs';
import { cases, deletion } from './cases.mjs';
import { measure, startLoad } from './measured.mjs';
import { report } from './system-report.mjs';
import { seedSubscriptions, seedUsers } from './seed.mjs';

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    rounds: { type: 'string', default: '1' },
    seconds: { type: 'string' },
    at: { type: 'string', default: '1,16,64' },
    only: { type: 'string', default: '' },
  },
});
const seconds = Number(options.seconds ?? (options.quick ? 1 : 3));
const rounds = Number(options.rounds);
/** Long enough for compiling the code. */
const warmUpSeconds = options.quick ? 1 : 8;
const concurrencies = options.at.split(',').map(Number);

/** More than are ever in flight, so that no request waits for another of the same user. */
const userCount = 200;
/** More deletions per second than a machine of this size can do. */
const maxDeletions = 600;

const size = { users: userCount, subscribed: 60, uploaded: 100 };

/** Seeds separate users for reads and writes. @returns a function for the users of a case. */
async function prepare(target) {
  const [readers, writers] = [await seedUsers(target, size), await seedUsers(target, size)];
  return async (name) => {
    if (name !== deletion) return /^(poll|page)/.test(name) ? readers : writers;
    const each = Math.ceil((maxDeletions * Math.max(seconds, warmUpSeconds)) / userCount);
    return seedSubscriptions(target, writers, each);
  };
}

/** Starts the floor next to the system, for users of the same issuer. */
async function openFloor(system) {
  const { d: _private, ...publicKey } = system.key;
  const { stop, ...floor } = await startFloor({ postgresUrl: system.postgresUrl, publicKey });
  return Object.assign(new Client(system.baseUrl, system.key), floor, { stop });
}

const names = [...Object.keys(cases), deletion].filter((name) =>
  new RegExp(options.only).test(name),
);

/** Runs each case at each concurrency, directly after the floor: other load affects both. */
async function round(label, { targets, system, load, tell }) {
  const found = [];
  for (const name of names)
    for (const connections of concurrencies) {
      let floor;
      for (const { what, target, usersOf } of targets) {
        if (name === deletion && what === 'floor') continue;
        const job = { name, connections, seconds, users: await usersOf(name) };
        const measured = await measure(load, target, system, job);
        tell(`${name}, ${connections} in flight, ${what}`, measured);
        const one = { name, connections, label: what === 'floor' ? what : label, ...measured };
        found.push({ ...one, beside: floor });
        if (what === 'floor') floor = one;
      }
    }
  return found;
}

/** Warms up every case, which connects, plans and compiles. */
async function warmUp(targets, load) {
  say('Warming up ...');
  for (const name of names)
    for (const { what, target, usersOf } of targets) {
      if (name === deletion && what === 'floor') continue;
      const job = { name, connections: 16, seconds: warmUpSeconds, users: await usersOf(name) };
      await load.run({ ...job, url: target.baseUrl });
    }
}

const system = await startSystem(say);
let floor;
let load;
try {
  [floor, load] = await Promise.all([openFloor(system), startLoad()]);
  const header = await circumstances(system.owner, [
    'fastify',
    '@nestjs/core',
    'pg',
    'bullmq',
    'ioredis',
    'autocannon',
  ]);
  const targets = [];
  for (const [what, target] of Object.entries({ floor, system })) {
    say(`Seeding ${userCount * 2} users of the ${what} ...`);
    targets.push({ what, target, usersOf: await prepare(target) });
  }
  await system.owner.query('VACUUM ANALYZE');
  await floor.analyze();
  const runs = 2 * names.length - Number(names.includes(deletion));
  const total = 2 * rounds * concurrencies.length * runs;
  const all = [];
  let done = 0;
  const tell = (what, { rate, cpu }) => {
    done += 1;
    say(
      `${done} of ${total}: ${what}: ${rate.toFixed(0)} requests/s, ` +
        `${cpu.total.toFixed(0)} µs of CPU each`,
    );
  };
  const writers = await Promise.all(
    targets.map(async ({ usersOf }) => (await usersOf('PATCH'))[0]),
  );
  await compareAnswers(floor, system, writers);
  for (const replicas of [1, 2]) {
    if (replicas > 1) await system.restart(replicas);
    await warmUp(
      targets.filter(({ what }) => replicas === 1 || what === 'system'),
      load,
    );
    const label = `${replicas} replica${replicas > 1 ? 's' : ''}`;
    for (let n = 0; n < rounds; n += 1)
      all.push(...(await round(label, { targets, system, load, tell })));
  }
  console.log(`${header}${rounds} round${rounds > 1 ? 's' : ''} of ${seconds} s a case\n`);
  console.log(report(all));
} finally {
  say('Stopping ...');
  load?.stop();
  await floor?.stop();
  await system.stop();
}
