// Prints the ten slowest test files of a run as table rows, and the duration of each tier.
//   npm test -- --reporter=default --reporter=json --outputFile.json=.data/report.json
//   node .ci/slowest.mjs .data/report.json
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';

const { testResults } = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const files = testResults.map(({ name, startTime, endTime, assertionResults }) => ({
  file: relative(process.cwd(), name),
  tier: /\.([a-z0-9]+-)?spec\.ts$/.exec(name)?.[1]?.slice(0, -1) ?? 'unit',
  startTime,
  endTime,
  cases: assertionResults.length,
}));
const seconds = (ms) => (ms / 1_000).toFixed(1);
const took = ({ startTime, endTime }) => endTime - startTime;

console.log('| file | cases | seconds |\n|---|--:|--:|');
for (const row of files.toSorted((one, other) => took(other) - took(one)).slice(0, 10))
  console.log(`| \`${row.file}\` | ${row.cases} | ${seconds(took(row))} |`);
for (const tier of new Set(files.map((row) => row.tier))) {
  const own = files.filter((row) => row.tier === tier);
  const start = Math.min(...own.map((row) => row.startTime));
  const end = Math.max(...own.map((row) => row.endTime));
  const cases = own.reduce((sum, row) => sum + row.cases, 0);
  console.log(`${tier}: ${own.length} files, ${cases} cases, ${seconds(end - start)} s`);
}
