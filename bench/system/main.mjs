// Measures the cost of the system relative to a bare server that does the same work: `npm run
// bench`, with these options after `--`. Needs Linux, whose /proc has the CPU times.
//   --quick       a smoke test
//   --rounds 5    medians of this many rounds
//   --seconds 2   duration of a measurement
//   --at 16       requests in flight
import { parseArgs } from 'node:util';
import { circumstances, say } from '../report.mjs';
import { startSystem } from '../running.system.mjs';
import { compareAnswers } from './answers.mjs';
import { cases, deletion, withoutBaseline } from './cases.mjs';
import { measure, startBaseline, startLoad } from './measured.mjs';
import { report } from './system.report.mjs';
import { seedSubscriptions, seedUsers } from './seed.mjs';

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    rounds: { type: 'string', default: '1' },
    seconds: { type: 'string' },
    at: { type: 'string', default: '1,16,64' },
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
const mostDeletions = 600;

/** Seeds separate users for reads and writes. @returns a function for the users of a case. */
async function prepare(system) {
  say(`Seeding ${userCount * 2} users ...`);
  const size = { users: userCount, subscribed: 60, uploaded: 100 };
  const [readers, writers] = [await seedUsers(system, size), await seedUsers(system, size)];
  await system.owner.query('VACUUM ANALYZE');
  const isRead = (name) => /^(poll|page)/.test(name);
  return async (name) => {
    if (name !== deletion) return isRead(name) ? readers : writers;
    return seedSubscriptions(
      system,
      writers,
      Math.ceil((mostDeletions * Math.max(seconds, warmUpSeconds)) / userCount),
    );
  };
}

/** Runs each case at each concurrency, directly after its baseline: other load affects both. */
async function round(label, target, { baseline, system, load, usersOf, tell }) {
  const found = [];
  for (const name of [...Object.keys(cases), deletion])
    for (const connections of concurrencies) {
      const run = async (what, one) => {
        const job = { name, connections, seconds, users: await usersOf(name) };
        const measured = await measure(load, one, system, job);
        tell(`${name}, ${connections} in flight, ${what}`, measured);
        return { name, connections, label: what, ...measured };
      };
      const beside = withoutBaseline.has(name) ? undefined : await run('baseline', baseline);
      found.push(...(beside ? [beside] : []), { ...(await run(label, target)), beside });
    }
  return found;
}

/** Warms up every case, which connects, plans and compiles. */
async function warmUp(targets, { baseline, load, usersOf }) {
  say('Warming up ...');
  for (const name of [...Object.keys(cases), deletion])
    for (const { baseUrl: url } of targets.filter(
      (one) => one !== baseline || !withoutBaseline.has(name),
    ))
      await load.run({
        name,
        connections: 16,
        seconds: warmUpSeconds,
        users: await usersOf(name),
        url,
      });
}

const system = await startSystem(say);
const [baseline, load] = await Promise.all([startBaseline(system.postgresUrl), startLoad()]);
try {
  const header = await circumstances(system.owner, [
    'fastify',
    '@nestjs/core',
    'pg',
    'bullmq',
    'ioredis',
    'autocannon',
  ]);
  const usersOf = await prepare(system);
  const total =
    2 *
    rounds *
    concurrencies.length *
    (2 * (Object.keys(cases).length + 1) - withoutBaseline.size);
  const all = [];
  let done = 0;
  const tell = (what, { rate, cpu }) => {
    done += 1;
    say(
      `${done} of ${total}: ${what}: ${rate.toFixed(0)} requests/s, ` +
        `${cpu.total.toFixed(0)} µs of CPU each`,
    );
  };
  const world = { baseline, system, load, usersOf, tell };
  await compareAnswers(baseline, system, (await usersOf('PATCH'))[0]);
  for (const replicas of [1, 2]) {
    if (replicas > 1) await system.restart(replicas);
    await warmUp(replicas > 1 ? [system] : [baseline, system], world);
    const label = `${replicas} replica${replicas > 1 ? 's' : ''}`;
    for (let n = 0; n < rounds; n += 1) all.push(...(await round(label, system, world)));
  }
  console.log(`${header}${rounds} round${rounds > 1 ? 's' : ''} of ${seconds} s a case\n`);
  console.log(report(all));
} finally {
  say('Stopping ...');
  load.stop();
  baseline.stop();
  await system.stop();
}
