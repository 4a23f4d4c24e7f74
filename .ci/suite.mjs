// Runs one test suite of package.json and counts its cases. A test file that fails runs once more,
// alone: when it passes then, its cases count as passed and the file is listed as flaky.
//
// node .ci/suite.mjs <results file> <npm script> [vitest arguments]
//
// Appends JSON lines to the results file: {suite, passed, failed, failures: [text], flaky: [text]}.
// A skipped case counts as failed, and so does a run that ends badly without a failed case.
import { spawnSync } from 'node:child_process';
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';

const [results, script, ...args] = process.argv.slice(2);
const suite = `npm run ${script} (Node ${process.version})`;
const started = performance.now();
const maxLines = 40;
const seconds = () => Math.round((performance.now() - started) / 1000);

/** Runs the suite, or some of its files. @returns its report, empty if there is none. */
function run(files) {
  const folder = mkdtempSync(join(tmpdir(), 'suite-'));
  const path = join(folder, 'report.json');
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${path}`];
  const { status } = spawnSync('npm', ['run', '-s', script, '--', ...reporters, ...files], {
    stdio: 'inherit',
  });
  try {
    return { status, files: JSON.parse(readFileSync(path, 'utf8')).testResults.map(readFile) };
  } catch {
    return { status: status || 1, files: [] };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function readFile({ name, status, message, assertionResults }) {
  const file = relative(process.cwd(), name);
  const bad = assertionResults.filter((result) => result.status !== 'passed');
  const problems = bad.map(({ status: outcome, fullName, failureMessages }) => {
    return `${file}: ${fullName} (${outcome})\n    ${shorten(failureMessages?.[0] ?? '')}`;
  });
  // A file that could not be run has a message and no case.
  if (status === 'failed' && bad.length === 0) problems.push(`${file}\n    ${shorten(message)}`);
  return { file, passed: assertionResults.length - bad.length, problems };
}

/** Keeps the first and last lines of a message: the last ones mostly contain the cause. */
function shorten(text) {
  const lines = text.split('\n').map((line) => line.slice(0, 300));
  const dropped = lines.length - maxLines;
  if (dropped > 0) lines.splice(maxLines / 2, dropped, `... ${dropped} lines more ...`);
  return lines.join('\n    ');
}

console.log(`== ${suite} ${args.join(' ')}`);
const first = run(args);
const outcome = { suite, passed: 0, failed: 0, failures: [], flaky: [] };
for (const { file, passed, problems } of first.files) {
  if (problems.length === 0) {
    outcome.passed += passed;
    continue;
  }
  console.log(`== ${file} failed: it runs once more, alone`);
  const again = run([...args.filter((arg) => arg.startsWith('-')), file]);
  const second = again.files.find((other) => other.file === file);
  if (again.status === 0 && second !== undefined && second.problems.length === 0) {
    outcome.passed += second.passed;
    outcome.flaky.push(problems[0]);
  } else {
    outcome.passed += passed;
    outcome.failed += problems.length;
    outcome.failures.push(...problems);
  }
}
const hasFailedFile = outcome.failed > 0 || outcome.flaky.length > 0;
if (first.status !== 0 && !hasFailedFile) {
  outcome.failed += 1;
  outcome.failures.push(`${suite} ended with status ${first.status} and no failed case`);
}
appendFileSync(results, `${JSON.stringify(outcome)}\n`);
const { passed, failed, flaky } = outcome;
console.log(
  `== ${suite}: ${passed} passed, ${failed} failed, ${flaky.length} flaky files, ${seconds()} s`,
);
