// Prints the cases of a report of Vitest that did not pass, each with its message: what a process said before it
// failed stands in it, and the cause is the last of that.
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
const mostLines = 40;
const cut = (text) => {
  const lines = text.split('\n').map((line) => line.slice(0, 300));
  const left = lines.length - mostLines;
  if (left > 0) lines.splice(mostLines / 2, left, `... ${left} lines more ...`);
  return lines.join('\n    ');
};
for (const { assertionResults, ...file } of report.testResults) {
  const spec = file.name.slice(process.cwd().length + 1);
  // A file that could not be run has a message and no case.
  if (file.status === 'failed' && file.message) console.log(`${run}: ${spec}\n    ${cut(file.message)}`);
  for (const { status, fullName, failureMessages } of assertionResults) {
    if (status === 'passed') continue;
    console.log(`${run}: ${spec}: ${fullName} (${status})\n    ${cut(failureMessages?.[0] ?? '')}`);
  }
}
