import { readdirSync, readFileSync } from 'node:fs';

/** Microseconds in a clock tick of /proc, which is a hundredth of a second on every Linux. */
const tick = 10_000;

/** Which part of the whole a process of the system is. */
const parts = [
  ['edge', /(apps\/|programs\/)(edge|gateway)[./]/],
  ['services', /(apps\/|programs\/)(subscription|episode|deletion-worker)[./]/],
  ['Redis', /redis-server|valkey-server/],
  ['Postgres', /(^|\/)postgres(:|\0)/],
  ['baseline', /bench\/baseline\//],
];

/**
 * CPU time that processes and everything they started have used so far, in microseconds by part.
 *
 * Per process it is utime + stime + cutime + cstime of /proc/<pid>/stat: the last two are what ended children used, so a
 * connection of Postgres that closes between two looks is not lost.
 */
export function cpuTimes(roots) {
  const all = processes();
  const found = roots.map((root) => all.get(root));
  for (const { pid } of found) for (const one of all.values()) if (one.parent === pid) found.push(one);
  const times = { total: 0 };
  for (const { pid, used } of found) {
    const part = parts.find(([, pattern]) => pattern.test(commandLine(pid)))?.[0] ?? 'other';
    times[part] = (times[part] ?? 0) + used;
    times.total += used;
  }
  return times;
}

function processes() {
  const all = new Map();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      // `pid (name) state parent ...`, where the name may hold anything.
      const fields = readFileSync(`/proc/${name}/stat`, 'utf8')
        .replace(/^.*\) /s, '')
        .split(' ');
      const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
      all.set(Number(name), { pid: Number(name), parent: Number(fields[1]), used: ticks * tick });
    } catch {
      // It has ended meanwhile.
    }
  }
  return all;
}

function commandLine(pid) {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}
