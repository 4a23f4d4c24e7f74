import { readFileSync } from 'node:fs';
import { cpus, loadavg, platform, release, totalmem } from 'node:os';

/** What happens meanwhile goes to standard error: the tables alone are on standard output. */
export const say = (line) => process.stderr.write(`${line}\n`);

/** When and where it was measured. */
export function machine() {
  const load = loadavg()[0].toFixed(1);
  const hardware = `${cpus().length} x ${cpus()[0]?.model ?? 'unknown'}, ${Math.round(totalmem() / 2 ** 30)} GiB`;
  return `${new Date().toISOString().slice(0, 16)}Z, ${hardware}, ${platform()} ${release()}, load at the start ${load}`;
}

/** When and where it was measured, and with what. */
export async function circumstances(owner, packages = []) {
  const { rows } = await owner.query('SHOW server_version');
  const manifest = (name) => JSON.parse(readFileSync(new URL(`../node_modules/${name}/package.json`, import.meta.url)));
  const versions = [
    `Node ${process.versions.node}`,
    `Postgres ${rows[0].server_version}`,
    ...packages.map((name) => `${name} ${manifest(name).version}`),
  ];
  return `${machine()}\n${versions.join(', ')}\n`;
}

/** A table in Markdown; all but the first column are numbers. */
export function table(head, rows) {
  const rule = head.map((_, column) => (column === 0 ? '---' : '--:'));
  return [head, rule, ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** The number that a share of all numbers is below; 0.5 is the median. */
export function quantile(numbers, share) {
  const sorted = numbers.toSorted((one, other) => one - other);
  return sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN;
}
