// Measures the cost of a change: compares this checkout with other built ones, alternating on the
// same machine, each with its own Postgres. `EVENTS=on` instead of a folder is this checkout with
// that variable.
//   npm run bench:compare -- ../before
//   --rounds 5    medians of this many rounds
//   --seconds 1   duration of a measurement
//   --at 16       requests in flight
//   --only poll   only cases whose names match
import { basename, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { circumstances, quantile, say, table } from '../report.mjs';
import { startSystem } from '../running-system.mjs';
import { cases } from './cases.mjs';
import { measure, startLoad } from './measured.mjs';
import { seedUsers } from './seed.mjs';

const { values: options, positionals: others } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '1' },
    at: { type: 'string', default: '1,16' },
    only: { type: 'string', default: '' },
  },
});
if (others.length === 0)
  throw new Error('name the folders of the checkouts to compare this one with');
const seconds = Number(options.seconds);
const rounds = Number(options.rounds);
/** Long enough for compiling the code. */
const warmUpSeconds = 6;
const size = { users: 200, subscribed: 60, uploaded: 100 };

/** Starts a checkout with separate users for reads and for writes. */
async function open(name, checkout) {
  const system = await startSystem(() => {}, checkout);
  const [readers, writers] = [await seedUsers(system, size), await seedUsers(system, size)];
  await system.owner.query('VACUUM ANALYZE');
  return { name, system, usersOf: (what) => (/^(poll|page)/.test(what) ? readers : writers) };
}

const load = await startLoad();
const builds = [];
try {
  for (const [name, checkout] of [
    ['this', {}],
    ...others.map((other) =>
      other.includes('=')
        ? [other, { environment: Object.fromEntries([other.split('=')]) }]
        : [basename(other), { checkout: resolve(other) }],
    ),
  ]) {
    say(`Starting and seeding ${name} ...`);
    builds.push(await open(name, checkout));
  }
  const header = await circumstances(builds[0].system.owner, [
    '@nestjs/core',
    'pg',
    'ioredis',
    'autocannon',
  ]);
  const chosen = Object.keys(cases).filter((name) => new RegExp(options.only).test(name));
  const run = ({ system, usersOf }, name, connections) =>
    measure(load, system, system, { name, connections, seconds, users: usersOf(name) });
  say('Warming up ...');
  for (const name of chosen)
    for (const { system, usersOf } of builds)
      await load.run({
        name,
        connections: 16,
        seconds: warmUpSeconds,
        users: usersOf(name),
        url: system.baseUrl,
      });
  const rows = [];
  for (const name of chosen)
    for (const connections of options.at.split(',').map(Number)) {
      say(`${name}, ${connections} in flight ...`);
      const found = builds.map(() => []);
      for (let round = 0; round < rounds; round += 1)
        for (let n = 0; n < builds.length; n += 1)
          found[n].push(await run(builds[n], name, connections));
      rows.push(
        ...builds.map((build, n) => row(name, connections, build.name, found[n], found[0])),
      );
    }
  const head = [
    'case',
    'in flight',
    'checkout',
    'requests/s',
    'p50 ms',
    'errors',
    'CPU µs',
    'of it Postgres',
    'WAL bytes',
    'WAL page images',
    'CPU ratio',
    'Postgres ratio',
    'WAL ratio',
    'requests/s ratio',
  ];
  console.log(`${header}${rounds} rounds of ${seconds} s a case; ratios to this checkout\n`);
  console.log(table(head, rows));
} finally {
  say('Stopping ...');
  load.stop();
  await Promise.all(builds.map(({ system }) => system.stop()));
}

/**
 * Returns a row with the medians of all rounds. Ratios are medians of each round's ratio, because
 * other load affects both sides of a round.
 */
function row(name, connections, build, found, first) {
  const median = (pick) => quantile(found.map(pick), 0.5);
  return [
    name,
    connections,
    build,
    median((one) => one.rate).toFixed(0),
    median((one) => one.p50).toFixed(2),
    found.reduce((sum, one) => sum + one.errors, 0),
    median((one) => one.cpu.total).toFixed(0),
    median((one) => one.cpu.Postgres).toFixed(0),
    median((one) => one.wal).toFixed(0),
    median((one) => one.images).toFixed(2),
    median((one, n) => one.cpu.total / first[n].cpu.total).toFixed(2),
    median((one, n) => one.cpu.Postgres / first[n].cpu.Postgres).toFixed(2),
    median((one, n) => one.wal / first[n].wal).toFixed(2),
    median((one, n) => one.rate / first[n].rate).toFixed(2),
  ];
}
