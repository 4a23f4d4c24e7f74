// Prints the cases of a report of Vitest that did not pass, each with the first lines of its message.
// node .ci/failures.mjs <name of the run> <report as JSON>
import { readFileSync } from 'node:fs';

const [run, path] = process.argv.slice(2);
let report;
try {
  report = JSON.parse(readFileSync(path, 'utf8'));
} catch {
  console.log(`${run}: no report`);
  process.exit();
}
const cut = (text) => text.split('\n').slice(0, 4).join('\n    ').slice(0, 600);
for (const { assertionResults, ...file } of report.testResults) {
  const spec = file.name.slice(process.cwd().length + 1);
  // A file that could not be run has a message and no case.
  if (file.status === 'failed' && file.message) console.log(`${run}: ${spec}\n    ${cut(file.message)}`);
  for (const { status, fullName, failureMessages } of assertionResults) {
    if (status === 'passed') continue;
    console.log(`${run}: ${spec}: ${fullName} (${status})\n    ${cut(failureMessages?.[0] ?? '')}`);
  }
}
