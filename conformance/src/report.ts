import { readFileSync } from 'node:fs';
import type { Result, RunResult } from './conformance-run.js';
import type { Citation } from './vector.js';

const { name, version } = JSON.parse(
  readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
) as { name: string; version: string };

/** Name and version of the suite in reports, since a later version can have other vectors. */
const suite = `${name} ${version}`;

/** Numbers of the vectors of one profile, by result. */
interface ProfileCounts {
  profile: string;
  passed: number;
  /** Vectors of the levels `must` and `ours` that failed. */
  failed: number;
  /** Vectors of the level `should` that failed. */
  warned: number;
  skipped: number;
}

/** Returns true if a result makes the server fail. A failed `should` vector is only a warning. */
export function isFailure({ outcome, vector }: Result): boolean {
  return outcome === 'failed' && vector.level !== 'should';
}

function countByProfile(results: Result[]): ProfileCounts[] {
  return [...new Set(results.map(({ vector }) => vector.profile))].map((profile) => {
    const own = results.filter(({ vector }) => vector.profile === profile);
    const failed = own.filter(isFailure).length;
    const number = (outcome: Result['outcome']) =>
      own.filter((result) => result.outcome === outcome).length;
    const warned = number('failed') - failed;
    return { profile, passed: number('passed'), failed, warned, skipped: number('skipped') };
  });
}

function quoteCitation({ document, heading, sentence }: Citation): string {
  return `${document}, "${heading}": ${sentence}`;
}

/** Returns the report for a terminal: each failed vector with its sentence, then the counts. */
export function terminalReport({ results, remaining }: RunResult): string {
  const failed = results.filter(({ outcome }) => outcome === 'failed');
  const lines = failed.flatMap((result) => [
    `${isFailure(result) ? 'FAILED' : 'WARNING'} ${result.vector.id} (${result.vector.level})`,
    `  ${result.vector.title}`,
    `  ${result.detail}`,
    `  cites ${quoteCitation(result.vector.cites)}`,
    ...(result.vector.conflicts ? [`  contradicts ${quoteCitation(result.vector.conflicts)}`] : []),
    '',
  ]);
  const table = countByProfile(results).map(
    ({ profile, passed, failed: bad, warned, skipped }) =>
      `${bad === 0 ? 'PASS' : 'FAIL'} ${profile.padEnd(16)} ${passed} passed, ${bad} failed, ` +
      `${warned} warnings, ${skipped} skipped`,
  );
  const left =
    remaining === 0 ? [] : [`The server did not delete ${remaining} subscriptions of this run.`];
  return [...lines, ...table, ...left, ''].join('\n');
}

/** Returns the results as JUnit XML, a test suite for each profile. */
export function junitReport({ results }: RunResult): string {
  const suites = countByProfile(results).map(({ profile, passed, failed, warned, skipped }) => {
    const cases = results
      .filter(({ vector }) => vector.profile === profile)
      .map((result) => {
        const { vector, milliseconds } = result;
        const title = escapeXml(`${vector.id}: ${vector.title}`);
        const attributes = `classname="${profile}" name="${title}"`;
        const content = junitContent(result);
        const time = (milliseconds / 1_000).toFixed(3);
        return `    <testcase ${attributes} time="${time}">${content}</testcase>`;
      });
    const tests = passed + failed + warned + skipped;
    return [
      `  <testsuite name="${profile}" tests="${tests}" failures="${failed}" skipped="${skipped}">`,
      ...cases,
      '  </testsuite>',
    ].join('\n');
  });
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="${suite}">`,
    ...suites,
    '</testsuites>',
    '',
  ].join('\n');
}

function junitContent(result: Result): string {
  if (result.outcome === 'passed') return '';
  const text = escapeXml(`${result.detail}\n${quoteCitation(result.vector.cites)}`);
  if (result.outcome === 'skipped') return '<skipped/>';
  return isFailure(result)
    ? `<failure message="${escapeXml(result.detail ?? '')}">${text}</failure>`
    : `<system-out>WARNING ${text}</system-out>`;
}

const pageStyle = `
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 64rem; padding: 0 1rem }
table { border-collapse: collapse; width: 100% }
th, td { border-bottom: 1px solid #8886; padding: 0.4rem; text-align: left; vertical-align: top }
.failed { color: #b00020; font-weight: bold }
.warning { color: #8a5a00; font-weight: bold }
.passed { color: #1b6e2d }
small { display: block; overflow-wrap: anywhere }
@media (prefers-color-scheme: dark) {
  body { background: #111; color: #eee }
  .failed { color: #ff8a8a } .warning { color: #ffc46b } .passed { color: #8fd99b }
}`;

/** Returns the results as one HTML page without scripts. */
export function htmlReport({ results }: RunResult, base: string): string {
  const totals = countByProfile(results).map(
    ({ profile, passed, failed, warned, skipped }) =>
      `<tr><th scope="row">${profile}</th><td>${passed}</td><td>${failed}</td>` +
      `<td>${warned}</td><td>${skipped}</td></tr>`,
  );
  const rows = results.map((result) => {
    const { vector, outcome, detail } = result;
    const state = outcome === 'failed' && !isFailure(result) ? 'warning' : outcome;
    const notes = [
      detail,
      quoteCitation(vector.cites),
      vector.conflicts && quoteCitation(vector.conflicts),
    ]
      .filter((note) => note !== undefined)
      .map((note) => `<small>${escapeXml(note)}</small>`);
    return (
      `<tr><td class="${state}">${state}</td><td>${vector.level}</td>` +
      `<td>${vector.id}</td><td>${escapeXml(vector.title)}${notes.join('')}</td></tr>`
    );
  });
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Open Podcast API conformance of ${escapeXml(base)}</title>
<style>${pageStyle}</style>
<h1>Open Podcast API conformance</h1>
<p>${escapeXml(base)}, ${new Date().toISOString()}, ${suite}</p>
<table>
<tr><th>profile</th><th>passed</th><th>failed</th><th>warnings</th><th>skipped</th></tr>
${totals.join('\n')}
</table>
<h2>Vectors</h2>
<table>
<tr><th>result</th><th>level</th><th>vector</th><th>rule</th></tr>
${rows.join('\n')}
</table>
</html>
`;
}

function escapeXml(text: string): string {
  // Replaces control characters, which XML does not allow.
  return text
    .replaceAll(/\p{Cc}/gu, ' ')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
