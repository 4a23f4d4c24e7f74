// Measures the feed service, and prints whether each figure is within its bound.
//   npm run bench:feeds                  # about eight minutes
//   npm run bench:feeds -- --only read   # read, fetch or serve
// Needs a build, and Linux: hosts of feeds are addresses of loopback, and /proc has the CPU times.
import { parseArgs } from 'node:util';
import { machine, say, table } from '../report.mjs';
import { startSystem } from '../running-system.mjs';
import { measureFetching } from './fetching.mjs';
import { parsedPerSecond } from './reading.mjs';
import { measureServing } from './serving.mjs';

const { values } = parseArgs({ options: { only: { type: 'string', default: '' } } });

const parts = {
  read: async () => [['MB parsed, a second of CPU time', parsedPerSecond(), { atLeast: 80 }]],
  fetch: async () => {
    // Its own feed service fetches nothing.
    const system = await startSystem(say, { environment: { FEEDS: 'pushed' } });
    try {
      return await measureFetching(system, say);
    } finally {
      await system.stop();
    }
  },
  serve: () => measureServing(say),
};

/** Returns a row of the table. A bound is a minimum or a maximum. */
function toCells([what, value, { atLeast, atMost }]) {
  const isMet = atLeast === undefined ? value <= atMost : value >= atLeast;
  const bound = atLeast === undefined ? `at most ${atMost}` : `at least ${atLeast}`;
  const digits = value >= 100 ? 0 : 2;
  return [what, value.toFixed(digits), `${bound}: ${isMet ? 'met' : 'missed'}`];
}

const circumstances = `${machine()}, Node ${process.versions.node}`;
const rows = [];
for (const [name, run] of Object.entries(parts))
  if (name.startsWith(values.only)) rows.push(...(await run()));
process.stdout.write(`${circumstances}\n\n${table(['', '', 'bound'], rows.map(toCells))}\n`);
process.exit(0);
