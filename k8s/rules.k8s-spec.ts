import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fetchDebianProgram, type Program } from '#embedded';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';

const rulesFile = 'k8s/chart/files/rules.yaml';
const testFile = 'k8s/rules.test.yaml';

/** Runs the promtool of a Prometheus program. Returns its output if it fails, else nothing. */
function failureOf({ command, env }: Program, ...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(join(dirname(command), 'promtool'), args, {
    env,
    encoding: 'utf8',
  });
  return status === 0 ? '' : `promtool failed\n${stdout}${stderr}`;
}

let prometheus: Program;
beforeAll(async () => {
  const works = (program: Program) => failureOf(program, '--version') === '';
  const fetched = await fetchDebianProgram(
    'prometheus',
    resolve('.data/programs'),
    works,
    console.log,
  );
  if (!fetched)
    throw new Error("promtool is needed, and Debian's package prometheus could not be fetched.");
  prometheus = fetched;
});

describe('promtool', () => {
  it('accepts the alert rules', () => {
    expect(failureOf(prometheus, 'check', 'rules', rulesFile)).toBe('');
  });

  it('confirms when alerts fire, with their labels and summaries', () => {
    expect(failureOf(prometheus, 'test', 'rules', testFile)).toBe('');
  });

  it('accepts the expressions of the dashboard', () => {
    const { panels } = JSON.parse(readFileSync('k8s/chart/files/dashboard.json', 'utf8')) as {
      panels: { targets?: { expr: string }[] }[];
    };
    const expressions = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
    const folder = mkdtempSync(join(tmpdir(), 'dashboard-'));
    try {
      const file = join(folder, 'rules.yaml');
      const rules = expressions.map((expr, i) => ({
        record: `panel_${i}`,
        // Grafana inserts the interval.
        expr: expr.replaceAll('$__rate_interval', '5m'),
      }));
      writeFileSync(file, stringify({ groups: [{ name: 'dashboard', rules }] }));
      expect(failureOf(prometheus, 'check', 'rules', file)).toBe('');
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

it('tests each alert whose summary has a label, as aggregations can drop it', () => {
  const { groups } = parse(readFileSync(rulesFile, 'utf8')) as {
    groups: { rules: { alert: string; annotations: { summary: string } }[] }[];
  };
  const { tests } = parse(readFileSync(testFile, 'utf8')) as {
    tests: { alert_rule_test: { alertname: string; exp_alerts: unknown[] }[] }[];
  };
  const cases = tests
    .flatMap((test) => test.alert_rule_test)
    .filter((test) => test.exp_alerts.length > 0);
  const fired = new Set(cases.map(({ alertname }) => alertname));
  const labelled = groups
    .flatMap(({ rules }) => rules)
    .filter(({ annotations }) => annotations.summary.includes('$labels'));
  expect(labelled.map(({ alert }) => alert).filter((alert) => !fired.has(alert))).toEqual([]);
});
