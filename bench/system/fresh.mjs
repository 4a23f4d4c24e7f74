// Compares the requests of a fresh system with those of a used one, whose Postgres has statistics
// and new connections: `npm run bench:fresh`. Both systems run, and take turns.
//   --rounds 5    medians of this many rounds
import { parseArgs } from 'node:util';
import { circumstances, quantile, say, table } from '../report.mjs';
import { startSystem } from '../running-system.mjs';
import { measure, startLoad } from './measured.mjs';
import { seedUsers } from './seed.mjs';

const { values: options } = parseArgs({ options: { rounds: { type: 'string', default: '5' } } });
const names = [
  'poll, nothing new',
  'poll of subscriptions, nothing new',
  'page of 50 episodes',
  'POST of 30 positions',
];
const bound = 1.3;
/** The first users of a server. Their tables are too small for autovacuum to analyze. */
const size = { users: 2, subscribed: 20, uploaded: 30 };
const job = { connections: 1, seconds: 1 };
/** Long enough for compiling the code. */
const warmUpSeconds = 6;

const load = await startLoad();
const systems = [];
try {
  for (const kind of ['fresh', 'used']) {
    const system = await startSystem(say);
    systems.push(system);
    if (kind === 'used') {
      say('Seeding the used system ...');
      await seedUsers(system, { users: 200, subscribed: 60, uploaded: 100 });
    }
    Object.assign(system, { kind, users: await seedUsers(system, size) });
  }
  const [fresh, used] = systems;
  const warmUp = async (system) => {
    for (const name of names)
      await load.run({
        ...job,
        name,
        users: system.users,
        url: system.baseUrl,
        seconds: warmUpSeconds,
      });
  };
  say('Warming up ...');
  await warmUp(fresh);
  await used.owner.query('VACUUM ANALYZE');
  await used.restart(1);
  await warmUp(used);
  const rows = [];
  for (const name of names) {
    const found = { fresh: [], used: [] };
    for (let n = 0; n < Number(options.rounds); n += 1)
      for (const system of systems) {
        const { cpu } = await measure(load, system, system, { ...job, name, users: system.users });
        found[system.kind].push(cpu);
      }
    const median = (kind, part) =>
      quantile(
        found[kind].map((cpu) => cpu[part]),
        0.5,
      );
    const ratio = median('fresh', 'total') / median('used', 'total');
    rows.push([
      name,
      ...['Postgres', 'total'].flatMap((part) =>
        ['fresh', 'used'].map((kind) => median(kind, part).toFixed(0)),
      ),
      `${ratio.toFixed(2)}: ${ratio <= bound ? 'met' : 'missed'}`,
    ]);
  }
  console.log(await circumstances(fresh.owner, ['pg']));
  const head = ['Postgres µs, fresh', 'used', 'CPU µs, fresh', 'used', `ratio, at most ${bound}`];
  console.log(table(['case', ...head], rows));
} finally {
  say('Stopping ...');
  load.stop();
  for (const system of systems) await system.stop();
}
