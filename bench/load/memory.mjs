import { readdirSync, readFileSync } from 'node:fs';

const megabytes = (text) => Number(/VmRSS:\s+(\d+)/.exec(text)?.[1] ?? 0) / 1_024;

function statusOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/status`, 'utf8');
  } catch {
    return '';
  }
}

/** The most memory that the loader has had in each half of its time, and any service, a child of the system, in MB. */
export function memoryOf({ loader, system }) {
  const looks = [];
  const memory = (pid) => Math.round(megabytes(statusOf(pid)));
  const isService = (pid) =>
    statusOf(pid).includes(`PPid:\t${system}\n`) &&
    /programs\/(episode|subscription)/.test(readFileSync(`/proc/${pid}/cmdline`, 'utf8'));
  const most = (name, some) => some.reduce((sum, look) => Math.max(sum, look[name]), 0);
  return {
    look() {
      const services = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && isService(name));
      looks.push({ loader: memory(loader), service: Math.max(0, ...services.map(memory)) });
    },
    most() {
      const half = Math.ceil(looks.length / 2);
      const halves = (name) => [looks.slice(0, half), looks.slice(half)].map((some) => most(name, some)).join(' / ');
      return { 'loader MB': halves('loader'), 'service MB': halves('service') };
    },
  };
}
