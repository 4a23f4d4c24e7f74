/**
 * Plants one fault after another in the working tree, and prints the tests that find it:
 *
 *     npm run test:faults -- [--only id,id] [--from 1] [--stages 5] [--check]
 *
 * It builds each fault, and runs tests in stages until one fails: those near it first. `--from`
 * starts at the fault of that number, and `--stages` runs only so many stages. `--check` runs
 * nothing and only looks for the source text of each fault.
 *
 * It writes `.data/faults.json`. With `--only` or `--from` the results of other faults stay there.
 * It restores each file, also after Ctrl-C.
 */
import { execFileSync, spawn } from 'node:child_process';
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { faults } from './faults.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const resultFile = join(root, '.data/faults.json');

/** Stages of `npm test`, in another order. Each stage gets the folders near the fault. */
const stages = [
  { name: 'unit near', args: (near) => ['--project', 'unit', ...near] },
  { name: 'int near', args: (near) => ['--project', 'int', ...near] },
  { name: 'e2e', args: () => ['--project', 'e2e'] },
  { name: 'system', args: () => ['--project', 'int', 'tests/system'] },
  { name: 'rest', args: () => ['--project', 'unit', '--project', 'int'] },
];

/** A stage that takes longer hangs because of the fault, which counts as found. */
const stageLimitMs = 20 * 60_000;

const { values: options } = parseArgs({
  options: {
    only: { type: 'string' },
    from: { type: 'string', default: '1' },
    stages: { type: 'string', default: String(stages.length) },
    check: { type: 'boolean', default: false },
  },
});

let isInterrupted = false;
/** The process that runs. */
let child;
/** Removes the planted fault. */
let restore = () => {};
for (const signal of ['SIGINT', 'SIGTERM'])
  process.on(signal, () => {
    isInterrupted = true;
    restore();
    child?.kill('SIGINT');
  });
process.on('exit', () => restore());

/** The faults that the options select. @throws Error for an id that none has. */
function selected() {
  if (options.only === undefined) return faults.slice(Number(options.from) - 1);
  return options.only.split(',').map((id) => {
    const fault = faults.find((one) => one.id === id);
    if (!fault) throw new Error(`there is no fault ${id}`);
    return fault;
  });
}

/** The source with the fault. @throws Error where its text is not there exactly once. */
function faulty({ id, file, find, replace }, source) {
  const count = source.split(find).length - 1;
  if (count !== 1) throw new Error(`${id}: ${file} has its text ${count} times, not once`);
  return source.replace(find, () => replace);
}

/** @throws Error if a fault can't be planted, or if its file has uncommitted changes. */
function check(all) {
  const ids = new Set(faults.map(({ id }) => id));
  if (ids.size < faults.length) throw new Error('two faults have one id');
  for (const fault of all) faulty(fault, fs.readFileSync(join(root, fault.file), 'utf8'));
  const files = [...new Set(all.map(({ file }) => file))];
  const git = ['status', '--porcelain', '--', ...files];
  const dirty = execFileSync('git', git, { cwd: root, encoding: 'utf8' });
  if (dirty !== '') throw new Error(`these have changes that are not committed:\n${dirty}`);
}

/** Runs a command. @returns its exit code (null if it was killed) and the end of its output. */
async function run(command, args, env = {}) {
  let output = '';
  const stdio = ['ignore', 'pipe', 'pipe'];
  child = spawn(command, args, { cwd: root, env: { ...process.env, ...env }, stdio });
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (data) => (output = (output + data).slice(-2_000)));
  const limit = setTimeout(() => child.kill('SIGKILL'), stageLimitMs);
  const code = await new Promise((resolve) => child.on('close', resolve));
  clearTimeout(limit);
  child = undefined;
  return { code, output };
}

/** The first test that failed, as vitest's JSON tells it. */
function failedTest(report) {
  try {
    const files = JSON.parse(fs.readFileSync(report, 'utf8')).testResults;
    for (const { name, assertionResults } of files) {
      const test = assertionResults.find(({ status }) => status === 'failed');
      if (test) return `${name.slice(root.length)}: ${test.fullName}`;
    }
    const file = files.find(({ status }) => status === 'failed');
    if (file) return `${file.name.slice(root.length)}: ${file.message.split('\n', 1)[0]}`;
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
  }
  return 'none, as the run itself failed';
}

/**
 * Removes a directory, and ends what still runs in it: a stage that ends early leaves servers. They
 * are found by /proc, so on Linux alone.
 */
function sweep(directory) {
  const names = fs.existsSync('/proc') ? fs.readdirSync('/proc') : [];
  for (const pid of names.filter((name) => /^\d+$/.test(name)))
    try {
      const workingDirectory = fs.readlinkSync(`/proc/${pid}/cwd`);
      if (workingDirectory.startsWith(`${directory}/`)) process.kill(Number(pid), 'SIGKILL');
    } catch {
      // It has ended meanwhile, or is another user's.
    }
  fs.rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
}

/** Builds, and runs the stages until one fails. */
async function hunt({ near }) {
  const build = await run('npm', ['run', '-s', 'build']);
  if (isInterrupted) return undefined;
  if (build.code !== 0) throw new Error(`the fault does not build:\n${build.output}`);
  const directory = fs.mkdtempSync(join(tmpdir(), 'faults-'));
  // For Postgres, which is another user where this one is root.
  fs.chmodSync(directory, 0o755);
  const report = join(directory, 'report.json');
  try {
    for (const { name, args } of stages.slice(0, Number(options.stages))) {
      const reporting = ['--reporter=json', `--outputFile=${report}`];
      const usual = ['vitest', 'run', '--passWithNoTests', '--bail', '1', ...reporting];
      const { code, output } = await run('npx', [...usual, ...args(near)], { TMPDIR: directory });
      if (isInterrupted) return undefined;
      if (code === 0) continue;
      const test = code === null ? 'none, as the run hung' : failedTest(report);
      return { found: true, stage: name, test, ...(test.startsWith('none') && { output }) };
    }
    return { found: false, stage: null, test: null };
  } finally {
    sweep(directory);
  }
}

/** Plants a fault while tests hunt for it. */
async function measure(fault) {
  const path = join(root, fault.file);
  const source = fs.readFileSync(path, 'utf8');
  restore = () => fs.writeFileSync(path, source);
  const started = performance.now();
  try {
    fs.writeFileSync(path, faulty(fault, source));
    const outcome = await hunt(fault);
    const seconds = Math.round((performance.now() - started) / 1_000);
    return outcome && { id: fault.id, area: fault.area, ...outcome, seconds };
  } finally {
    restore();
    restore = () => {};
  }
}

/** The results so far in the order of the faults, by their ids. */
function earlierResults() {
  if (options.only === undefined && options.from === '1') return new Map();
  try {
    const saved = JSON.parse(fs.readFileSync(resultFile, 'utf8')).faults;
    return new Map(saved.map((result) => [result.id, result]));
  } catch (error) {
    if (error.code === 'ENOENT') return new Map();
    throw error;
  }
}

function save(results) {
  const ordered = faults.flatMap(({ id }) => results.get(id) ?? []);
  const commit = execFileSync('git', ['rev-parse', 'HEAD'], { cwd: root, encoding: 'utf8' }).trim();
  fs.mkdirSync(join(root, '.data'), { recursive: true });
  fs.writeFileSync(resultFile, `${JSON.stringify({ commit, faults: ordered }, undefined, 2)}\n`);
  return ordered;
}

function line({ id, area, found, stage, test, seconds }) {
  const columns = [area.padEnd(9), id.padEnd(27), (found ? stage : 'MISSED').padEnd(9)];
  return [...columns, `${String(seconds).padStart(4)} s`, test ?? ''].join('  ');
}

const all = selected();
check(all);
if (options.check) {
  console.log(`${all.length} faults can be planted`);
  process.exit();
}
const results = earlierResults();
try {
  for (const fault of all) {
    const result = await measure(fault);
    if (!result) break;
    results.set(fault.id, result);
    save(results);
    console.log(`${String(faults.indexOf(fault) + 1).padStart(3)}  ${line(result)}`);
  }
} finally {
  // The build still has the last fault.
  execFileSync('npm', ['run', '-s', 'build'], { cwd: root, stdio: 'ignore' });
}
const ordered = save(results);
console.log(`\n${ordered.map(line).join('\n')}\n`);
console.log(`${ordered.filter(({ found }) => found).length} of ${ordered.length} found`);
process.exitCode = isInterrupted ? 130 : 0;
