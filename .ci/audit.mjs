// Fails on known vulnerabilities of locked packages, except those in audit-allow.json: a list of
// {"id": "GHSA-…", "reason": "why it can't hurt here", "until": "2026-01-31"}. An exception expires
// after `until`. The argument can name another list. Without advisories from the registry nothing
// is checked: the gate reports that and passes, a release (`--strict`, apps/release.mjs) fails.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { strict: { type: 'boolean', default: false } },
});
const allowed = JSON.parse(
  readFileSync(positionals[0] ?? new URL('audit-allow.json', import.meta.url), 'utf8'),
);
const today = new Date().toISOString().slice(0, 10);
for (const { id, reason, until } of allowed)
  if (!id?.startsWith('GHSA-') || !reason || !/^\d{4}-\d\d-\d\d$/.test(until ?? ''))
    throw new Error(`audit-allow.json: ${id} needs an id, a reason and a date`);

const { stdout } = spawnSync('npm', ['audit', '--json', '--package-lock-only'], {
  encoding: 'utf8',
  maxBuffer: 2 ** 26,
});
const report = reportOf(stdout);
if (!report.vulnerabilities) {
  console.log(
    'audit: NOTHING WAS CHECKED, as the registry returned no advisories: ' +
      (report.message || 'no report'),
  );
  if (values.strict)
    console.log('audit: a release needs this check: repeat it with a registry that has advisories');
  process.exit(values.strict ? 1 : 0);
}
const advisories = new Map();
for (const { name, via } of Object.values(report.vulnerabilities))
  for (const cause of via)
    if (typeof cause === 'object') advisories.set(cause.url.split('/').at(-1), { name, ...cause });

let open = 0;
for (const [id, { name, title, severity }] of advisories) {
  const exception = allowed.find((entry) => entry.id === id && entry.until >= today);
  if (!exception) open++;
  console.log(
    `audit: ${name}: ${severity}: ${title} (${id})` +
      (exception ? `, allowed: ${exception.reason}` : ''),
  );
}
console.log(`audit: ${advisories.size} known, ${open} of them not allowed`);
process.exitCode = open > 0 ? 1 : 0;

/** Parses npm's report, which is not always JSON without a network. */
function reportOf(output) {
  try {
    return JSON.parse(output);
  } catch {
    return { message: output };
  }
}
