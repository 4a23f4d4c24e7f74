import { readdirSync, readFileSync } from 'node:fs';

/** Microseconds per clock tick of /proc, which is 10 ms on every Linux. */
const tick = 10_000;

/** Parts of the system, by the command lines of their processes. */
const parts = [
  ['edge', /(apps\/|programs\/)(edge|gateway)[./]/],
  ['services', /(apps\/|programs\/)(subscription|episode|deletion-worker)[./]/],
  ['Redis', /redis-server|valkey-server/],
  ['Postgres', /(^|\/)postgres(:|\0)/],
  ['floor gateway', /bench\/floor\/gateway/],
  ['floor service', /bench\/floor\/service/],
];

/**
 * Returns the CPU time that processes and their descendants have used, in microseconds by part.
 *
 * It is the sum of utime, stime, cutime and cstime of /proc/<pid>/stat. The last two include ended
 * children, such as closed Postgres connections.
 */
export function cpuTimes(roots) {
  const times = { total: 0 };
  for (const { pid, used } of processesBelow(roots)) {
    const part = parts.find(([, pattern]) => pattern.test(commandLine(pid)))?.[0] ?? 'other';
    times[part] = (times[part] ?? 0) + used;
    times.total += used;
  }
  return times;
}

/** Returns processes and their descendants, with the CPU time of each in microseconds. */
export function processesBelow(roots) {
  const all = processes();
  const found = roots.map((root) => all.get(root));
  for (const { pid } of found)
    for (const one of all.values()) if (one.parent === pid) found.push(one);
  return found;
}

function processes() {
  const all = new Map();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      // `pid (name) state parent ...`; the name can contain any characters.
      const fields = readFileSync(`/proc/${name}/stat`, 'utf8')
        .replace(/^.*\) /s, '')
        .split(' ');
      const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
      all.set(Number(name), { pid: Number(name), parent: Number(fields[1]), used: ticks * tick });
    } catch {
      // It has ended.
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
