// Measures the memory of an idle `npm start` by process as proportional set size (PSS), which
// counts a shared page once in total. Fails if a process or the sum exceeds its limit.
//   node bench/memory/main.mjs [--seconds 60] [--json]
// Needs a build, and Linux: it reads /proc/<pid>/smaps_rollup.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { removePostgres, removeRedis } from '#embedded';
import { machine, say, table } from '../report.mjs';
import { ceilings, totalCeiling } from './ceilings.mjs';

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '60' }, json: { type: 'boolean' } },
});
const program = fileURLToPath(new URL('../../dist/programs/podcast-sync.js', import.meta.url));

function processesBelow(root) {
  const parents = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        // `pid (name) state parent ...`; the name can contain any characters.
        const [, parent] = readFileSync(`/proc/${pid}/stat`, 'utf8')
          .replace(/^.*\) /s, '')
          .split(' ');
        return [[Number(pid), Number(parent)]];
      } catch {
        return [];
      }
    });
  const found = [root];
  for (const pid of found)
    for (const [child, parent] of parents) if (parent === pid) found.push(child);
  return found;
}

/** Returns the name of a process: `gateway`, `postgres`, … Postgres' processes count as one. */
function nameOf(pid) {
  const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
  const script = words.find((word) => word.endsWith('.js'));
  if (script) return basename(script, '.js');
  return /postgres/.test(words[0]) ? 'postgres' : basename(words[0]).replace(/[ :].*/, '');
}

function memoryOf(pid) {
  const [, kilobytes] = /^Pss:\s+(\d+) kB$/m.exec(
    readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'),
  );
  return (Number(kilobytes) * 1_024) / 1e6;
}

async function idleMemory(seconds) {
  const root = mkdtempSync(join(tmpdir(), 'podcast-sync-memory-'));
  chmodSync(root, 0o711);
  const data = join(root, 'data');
  const child = fork(program, ['start', '--data', data, '--port', '0'], {
    execArgv: [],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const ended = once(child, 'close');
  try {
    await Promise.race([
      once(child, 'message'),
      ended.then(() => Promise.reject(new Error('it did not start'))),
    ]);
    say(`It runs; looking at its memory in ${seconds} s ...`);
    await delay(seconds * 1_000);
    const memory = {};
    for (const pid of processesBelow(child.pid))
      memory[nameOf(pid)] = (memory[nameOf(pid)] ?? 0) + memoryOf(pid);
    return memory;
  } finally {
    child.kill('SIGTERM');
    await ended;
    await removeRedis(join(data, 'redis'));
    await removePostgres(join(data, 'postgres'));
    rmSync(root, { recursive: true, force: true });
  }
}

const memory = await idleMemory(Number(values.seconds));
const all = Object.values(memory).reduce((sum, each) => sum + each, 0);
const tooMuch = [
  ...Object.entries(memory)
    // A process without a ceiling fails.
    .filter(([name, each]) => each > (ceilings[name] ?? 0))
    .map(([name, each]) => `${name}: ${each.toFixed(0)} MB, limit ${ceilings[name] ?? 0}`),
  ...Object.keys(ceilings)
    .filter((name) => !(name in memory))
    .map((name) => `${name}: not running`),
  ...(all > totalCeiling ? [`all: ${all.toFixed(0)} MB, limit ${totalCeiling}`] : []),
];
if (values.json) process.stdout.write(`${JSON.stringify(memory)}\n`);
else {
  const rows = Object.entries({ ...memory, all }).map(([name, each]) => [
    name,
    each.toFixed(0),
    ceilings[name] ?? totalCeiling,
  ]);
  process.stdout.write(
    `${machine()}, Node ${process.versions.node}\n\n${table(['process', 'MB', 'ceiling'], rows)}\n`,
  );
}
for (const problem of tooMuch) process.stderr.write(`${problem}\n`);
process.exitCode = tooMuch.length > 0 ? 1 : 0;
