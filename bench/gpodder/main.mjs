// What the gpodder API costs beside the main one: `npm run bench:gpodder`, with `-- --rounds 5` for medians, `-- --seconds 3`
// for how long each measurement takes and `-- --rows 20000` for a run with less history. Needs Linux, whose /proc says what
// memory a process had.
import { parseArgs } from 'node:util';
import { circumstances, quantile, say, table } from '../report.mjs';
import { startSystem } from '../running.system.mjs';
import { seedUsers } from '../system/seed.mjs';
import { Listener, withAppPassword } from './listener.mjs';
import { loaded } from './loaded.mjs';
import { peakOf } from './peak.mjs';
import { usersWithHistory } from './history.mjs';

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '3' },
    rows: { type: 'string', default: '200000' },
  },
});
const [rounds, seconds, most] = [options.rounds, options.seconds, options.rows].map(Number);
/** Of the largest history, and what a small one and a first sync have. */
const [few, firstSync] = [300, Math.round(most / 4)];
const inFlight = 8;
/** More than are in flight, so that no request waits for another of the same user. */
const userCount = 64;
/** Long enough for what runs to be compiled. */
const warmUpSeconds = 5;

const median = (numbers) => quantile(numbers, 0.5);
const verdict = (met) => (met ? 'met' : '**MISSED**');

/** Requests a second of the gateway and of gpodder, one after the other in each round: what else the machine does hits both. */
async function beside(what, listeners, { gateway, gpodder, least }) {
  for (const request of [gateway, gpodder]) await loaded(listeners, { request, inFlight, seconds: warmUpSeconds });
  const found = [];
  for (let n = 1; n <= rounds; n += 1) {
    say(`${what}, ${n} of ${rounds} ...`);
    const [main, ours] = [
      await loaded(listeners, { request: gateway, inFlight, seconds }),
      await loaded(listeners, { request: gpodder, inFlight, seconds }),
    ];
    found.push({ main, ours, ratio: ours.rate / main.rate });
  }
  const errors = found.reduce((sum, { main, ours }) => sum + main.errors + ours.errors, 0);
  const ratio = median(found.map((each) => each.ratio));
  return [
    `${what}, ${inFlight} in flight, requests/s`,
    median(found.map(({ main }) => main.rate)).toFixed(0),
    median(found.map(({ ours }) => ours.rate)).toFixed(0),
    ratio.toFixed(2),
    `at least ${least}, no error: ${verdict(ratio >= least && errors === 0)}`,
  ];
}

/** A poll with nothing new of two histories, by turns. */
async function byHistory(small, large) {
  const took = [[], []];
  for (let n = 0; n < 40 + 100 * rounds; n += 1)
    for (const [place, listener] of [small, large].entries()) {
      const begun = performance.now();
      await listener.poll();
      if (n >= 40) took[place].push(performance.now() - begun);
    }
  const [few50, many50] = took.map(median);
  const ratio = many50 / few50;
  const name = `poll with nothing new, ${few} rows and ${most.toLocaleString('en')}, p50 ms`;
  return [name, few50.toFixed(2), many50.toFixed(2), ratio.toFixed(2), `at most 1.2: ${verdict(ratio <= 1.2)}`];
}

/** First syncs, each of a user whom nobody has asked for; the one before does not count, as its code is compiled by it. */
async function firstSyncs(system, [warmUp, ...listeners]) {
  await warmUp.firstSync();
  const found = [];
  for (const listener of listeners) found.push(await peakOf(system.pid, 'gpodder', () => listener.firstSync()));
  const [firstByte, growth] = [found.map(({ value }) => value.firstByteMs), found.map(({ grewMb }) => grewMb)];
  const all = found.map(({ value }) => value.allMs);
  const rows = firstSync.toLocaleString('en');
  const row = (what, numbers, limit, digits = 0) => [
    `first sync of ${rows} rows, ${what}`,
    '',
    median(numbers).toFixed(digits),
    '',
    limit ? `below ${limit}: ${verdict(median(numbers) < limit)}` : '',
  ];
  return [
    row('first byte, ms', firstByte, 100),
    row('all of it, ms', all),
    row('growth of the process, MB', growth, 50),
  ];
}

const system = await startSystem(say);
try {
  const header = await circumstances(system.owner, ['fastify', 'autocannon']);
  say('Seeding users ...');
  const seeded = await seedUsers(system, { users: userCount, subscribed: 5, uploaded: 30 });
  const histories = await usersWithHistory(system, [few, most, ...Array.from({ length: rounds + 1 }, () => firstSync)]);
  const users = await Promise.all([...seeded, ...histories].map((user) => withAppPassword(system, user)));
  const listeners = users.map((user) => new Listener(system, user));
  const usual = listeners.slice(0, userCount);
  const [small, large, ...new50] = listeners.slice(userCount);
  for (const listener of [...usual, small, large]) await listener.begin();
  const rows = [
    await beside('empty poll', usual, {
      gateway: (one) => one.mainPoll(),
      gpodder: (one) => one.pollRequest(),
      least: 0.5,
    }),
    await beside('upload of 30 known actions', usual, {
      gateway: (one) => one.mainUpload(),
      gpodder: (one) => one.upload(),
      least: 0.8,
    }),
    await byHistory(small, large),
    ...(await firstSyncs(system, new50)),
  ];
  console.log(`${header}${rounds} rounds of ${seconds} s\n`);
  console.log(table(['case', 'gateway, or few rows', 'gpodder, or many', 'ratio', 'to reach'], rows));
} finally {
  say('Stopping ...');
  await system.stop();
}
