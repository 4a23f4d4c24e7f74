import { readdirSync, readFileSync, writeFileSync } from 'node:fs';

/** By how many MB a program of the system grew at most while something ran, and what came of that. */
export async function peakOf(root, program, run) {
  const pid = pidOf(root, program);
  // The kernel's peak begins anew.
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
  const before = memoryOf(pid, 'VmRSS');
  const value = await run();
  return { value, grewMb: memoryOf(pid, 'VmHWM') - before };
}

function memoryOf(pid, field) {
  const [, kilobytes] = new RegExp(`${field}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return (Number(kilobytes) * 1_024) / 1e6;
}

function pidOf(root, program) {
  const found = readdirSync('/proc').filter((name) => {
    try {
      return (
        /^\d+$/.test(name) &&
        readFileSync(`/proc/${name}/cmdline`, 'utf8').includes(`programs/${program}.js`) &&
        new RegExp(`^PPid:\\s+${root}$`, 'm').test(readFileSync(`/proc/${name}/status`, 'utf8'))
      );
    } catch {
      // It has ended meanwhile.
      return false;
    }
  });
  if (found.length !== 1) throw new Error(`${found.length} processes are ${program}`);
  return Number(found[0]);
}
