// Measures requests of users with much history: `npm run bench:growth`, with these options after
// `--`:
//   --small                        a run of two minutes
//   --users 10,1000,100000         episode states of the compared users
//   --rows 100000000               episode states of the whole table
//   --rounds 5                     medians of this many rounds
import { parseArgs } from 'node:util';
import { circumstances, quantile, say, table } from '../report.mjs';
import { startSystem } from '../running-system.mjs';
import { copyEpisodes } from './copy.mjs';
import { GrowthCases } from './growth-cases.mjs';
import { progressBar } from './progress.mjs';
import { seedUsers } from './seed.mjs';
import { bytesPer } from './storage.mjs';

const { values: options } = parseArgs({
  options: {
    small: { type: 'boolean', default: false },
    users: { type: 'string' },
    rows: { type: 'string' },
    rounds: { type: 'string', default: '1' },
  },
});
const sizes = (options.users ?? (options.small ? '10,1000,100000' : '10,1000,100000,1000000'))
  .split(',')
  .map(Number);
const rounds = Number(options.rounds);
const tableRows = Number(options.rows ?? (options.small ? 1_000_000 : 10_000_000));
/** Size of all users that are not compared. */
const usual = { subscriptions: 50, states: 2_000 };
const batch = 500;

/** Creates the compared users, a copy of the largest with its latest changes first, and others. */
async function seed(system) {
  const compared = await makeUsers(system, [...sizes, sizes.at(-1)]);
  const descending = Object.assign(compared.pop(), { descending: true });
  const named = [...compared, descending];
  const left = tableRows - named.reduce((sum, { states }) => sum + states, 0);
  const others = await makeUsers(
    system,
    Array.from({ length: Math.max(0, Math.ceil(left / usual.states)) }, () => usual.states),
  );
  const all = [...named, ...others];
  const rows = all.reduce((sum, { states }) => sum + states, 0);
  const indexes = await copyEpisodes(system.owner, all, progressBar('Episode states', rows));
  const built = progressBar('Indexes', indexes.length);
  for (const [n, { definition }] of indexes.entries()) {
    built(n);
    await system.owner.query(definition.replace(' ON ONLY ', ' ON '));
  }
  built(indexes.length);
  say('Vacuuming ...');
  await system.owner.query('VACUUM ANALYZE');
  return { compared, descending };
}

async function makeUsers(system, states) {
  const made = [];
  const onProgress = progressBar('Users', states.length);
  while (made.length < states.length) {
    const users = Math.min(batch, states.length - made.length);
    made.push(
      ...(await seedUsers(system, { users, subscribed: usual.subscriptions, uploaded: 0 })),
    );
    onProgress(made.length);
  }
  return made.map((user, n) => Object.assign(user, { states: states[n] }));
}

async function repeat(what, measure) {
  const found = [];
  for (let n = 1; n <= rounds; n += 1) {
    say(`Measuring ${what}, ${n} of ${rounds} ...`);
    found.push(await measure());
  }
  return found;
}

/** Returns report lines with the medians of all rounds. */
function medians(found) {
  return found[0].map(({ what, most }, n) => {
    const [p50, ratio] = ['p50', 'ratio'].map((each) =>
      quantile(
        found.map((lines) => lines[n][each]),
        0.5,
      ),
    );
    const verdict = most === undefined ? '' : `${most}: ${ratio <= most ? 'met' : '**MISSED**'}`;
    return [what, p50.toFixed(2), ratio.toFixed(2), verdict];
  });
}

const system = await startSystem(say);
try {
  const header = await circumstances(system.owner, ['pg']);
  const [probe] = await seedUsers(system, {
    users: 1,
    subscribed: usual.subscriptions,
    uploaded: 100,
  });
  const cases = new GrowthCases(system, say);
  await cases.warmUp(probe);
  const empty = await repeat('an empty table', () => cases.inTable(probe));
  const { compared, descending } = await seed(system);
  await cases.warmUp(probe);
  const full = await repeat('a full table', () => cases.inTable(probe));
  const rows = [
    ...medians(await repeat('reads', () => cases.readsByUser(compared))),
    ...medians(await repeat('a page that is far in', () => cases.deepPage(compared.at(-1)))),
    ...medians(await repeat('lists with since', () => cases.sinces(compared.at(-1), descending))),
    ...medians(await repeat('uploads', () => cases.uploadsByUser(compared))),
    ...medians(full.map((found, n) => cases.tableGrown(empty[n], found, tableRows))),
  ];
  const subscriptionTables = ['subscriptions', 'guids', 'feed_urls', 'former_guids'].map(
    (name) => `subscription.${name}`,
  );
  const storage = [
    ...(await bytesPer(system.owner, 'An episode state', [
      'episode.episodes',
      'episode.states',
      'episode.sync_ids',
    ])),
    ...(await bytesPer(system.owner, 'A subscription', subscriptionTables)),
  ];
  const times = rounds > 1 ? `, medians of ${rounds} rounds` : '';
  console.log(`${header}${tableRows.toLocaleString('en')} episode states in the table${times}\n`);
  console.log(table(['case', 'p50 ms', 'to the first', 'at most'], rows));
  console.log(`\n${table(['storage', 'bytes'], storage)}`);
} finally {
  say('Stopping ...');
  await system.stop();
}
