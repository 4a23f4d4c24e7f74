// Measures memory and CPU time of an idle `npm start` by process. Memory is the proportional set
// size (PSS), which counts a shared page once in total. Fails if a process or the sum exceeds its
// limit: of memory with one replica of each service, of CPU time with more.
//   node bench/memory/main.mjs [--seconds 60] [--replicas 1] [--json]
// Needs a build, and Linux: it reads /proc/<pid>/smaps_rollup.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { removePostgres, removeRedis } from '#embedded';
import { machine, say, table } from '../report.mjs';
import { processesBelow } from '../system/cpu.mjs';
import { ceilings, cpuCeiling, totalCeiling } from './ceilings.mjs';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    replicas: { type: 'string', default: '1' },
    json: { type: 'boolean' },
  },
});
/**
 * Time after the start that does not count, in milliseconds. For the CPU time it is longer: each
 * process collects the garbage of its start once more, at a time in the first 110 s.
 */
const settleMs = values.replicas === '1' ? 10_000 : 120_000;
const program = fileURLToPath(new URL('../../dist/programs/podcast-sync.js', import.meta.url));

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

/** Returns memory in MB and CPU time in percent of a core, by the name of the process. */
async function measureIdle(seconds, replicas) {
  const root = mkdtempSync(join(tmpdir(), 'podcast-sync-memory-'));
  chmodSync(root, 0o711);
  const data = join(root, 'data');
  const options = ['--data', data, '--port', '0', '--replicas', replicas];
  const child = fork(program, ['start', ...options], {
    execArgv: [],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const ended = once(child, 'close');
  try {
    await Promise.race([
      once(child, 'message'),
      ended.then(() => Promise.reject(new Error('it did not start'))),
    ]);
    say(`It runs; measuring for ${seconds} s after ${settleMs / 1_000} s ...`);
    await delay(settleMs);
    const before = new Map(processesBelow([child.pid]).map(({ pid, used }) => [pid, used]));
    await delay(seconds * 1_000);
    const measured = {};
    for (const { pid, used } of processesBelow([child.pid])) {
      const of = (measured[nameOf(pid)] ??= { memory: 0, cpu: 0 });
      of.memory += memoryOf(pid);
      of.cpu += (used - (before.get(pid) ?? 0)) / seconds / 10_000;
    }
    return measured;
  } finally {
    child.kill('SIGTERM');
    await ended;
    await removeRedis(join(data, 'redis'));
    await removePostgres(join(data, 'postgres'));
    rmSync(root, { recursive: true, force: true });
  }
}

const measured = await measureIdle(Number(values.seconds), values.replicas);
const sumOf = (field) => Object.values(measured).reduce((sum, each) => sum + each[field], 0);
const all = { memory: sumOf('memory'), cpu: sumOf('cpu') };
const tooMuchMemory = [
  ...Object.entries(measured)
    // A process without a ceiling fails.
    .filter(([name, { memory }]) => memory > (ceilings[name] ?? 0))
    .map(([name, { memory }]) => `${name}: ${memory.toFixed(0)} MB, limit ${ceilings[name] ?? 0}`),
  ...Object.keys(ceilings)
    .filter((name) => !(name in measured))
    .map((name) => `${name}: not running`),
  ...(all.memory > totalCeiling ? [`all: ${all.memory.toFixed(0)} MB, limit ${totalCeiling}`] : []),
];
const tooMuchCpu =
  all.cpu > cpuCeiling ? [`all: ${all.cpu.toFixed(2)} % CPU, limit ${cpuCeiling} %`] : [];
const tooMuch = values.replicas === '1' ? tooMuchMemory : tooMuchCpu;
if (values.json) process.stdout.write(`${JSON.stringify(measured)}\n`);
else {
  const rows = Object.entries({ ...measured, all }).map(([name, { memory, cpu }]) => [
    name,
    memory.toFixed(0),
    ceilings[name] ?? totalCeiling,
    cpu.toFixed(2),
  ]);
  const head = ['process', 'MB', 'ceiling', 'CPU %'];
  process.stdout.write(`${machine()}, Node ${process.versions.node}\n\n${table(head, rows)}\n`);
}
for (const problem of tooMuch) process.stderr.write(`${problem}\n`);
process.exitCode = tooMuch.length > 0 ? 1 : 0;
