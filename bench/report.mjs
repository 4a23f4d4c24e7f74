import { readFileSync } from 'node:fs';
import { cpus, loadavg, platform, release, totalmem } from 'node:os';

/** Prints progress to standard error. Standard output has only the tables. */
export const say = (line) => process.stderr.write(`${line}\n`);

/** Returns the time and the machine of a measurement. */
export function machine() {
  const load = loadavg()[0].toFixed(1);
  const memory = `${Math.round(totalmem() / 2 ** 30)} GiB`;
  const hardware = `${cpus().length} x ${cpus()[0]?.model ?? 'unknown'}, ${memory}`;
  const time = `${new Date().toISOString().slice(0, 16)}Z`;
  return `${time}, ${hardware}, ${platform()} ${release()}, load at the start ${load}`;
}

/** Returns the time, the machine and the versions of a measurement. */
export async function circumstances(owner, packages = []) {
  const { rows } = await owner.query('SHOW server_version');
  const manifest = (name) =>
    JSON.parse(readFileSync(new URL(`../node_modules/${name}/package.json`, import.meta.url)));
  const versions = [
    `Node ${process.versions.node}`,
    `Postgres ${rows[0].server_version}`,
    ...packages.map((name) => `${name} ${manifest(name).version}`),
  ];
  return `${machine()}\n${versions.join(', ')}\n`;
}

/** Returns a Markdown table; all columns but the first are numbers. */
export function table(head, rows) {
  const rule = head.map((_, column) => (column === 0 ? '---' : '--:'));
  return [head, rule, ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** Returns a quantile of numbers; a share of 0.5 is the median. */
export function quantile(numbers, share) {
  const sorted = numbers.toSorted((one, other) => one - other);
  return sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN;
}
