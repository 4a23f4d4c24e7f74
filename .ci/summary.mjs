// Prints what failed and what was flaky, then the closing line "N passed, N failed".
// node .ci/summary.mjs <results file>; exits with 1 when something failed.
import { readFileSync } from 'node:fs';

const outcomes = readFileSync(process.argv[2], 'utf8')
  .trim()
  .split('\n')
  .filter(Boolean)
  .map(JSON.parse);
const sum = (key) => outcomes.reduce((total, outcome) => total + outcome[key], 0);
for (const { suite, failures } of outcomes)
  for (const text of failures) console.log(`failed: ${suite}: ${text}`);
const flaky = outcomes.flatMap(({ suite, flaky: files }) =>
  files.map((text) => `${suite}: ${text}`),
);
if (flaky.length > 0) {
  console.log('flaky: add each of these to .ci/flaky.md and fix it before new work');
  for (const text of flaky) console.log(`  ${text}`);
}
console.log(`${sum('passed')} passed, ${sum('failed')} failed`);
process.exitCode = sum('failed') > 0 ? 1 : 0;
