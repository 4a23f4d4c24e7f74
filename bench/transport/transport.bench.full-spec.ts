import { expect, it } from 'vitest';
import { measure, quickPlan } from './bench.plan.js';
import { report } from './bench.report.js';

it('measures every transport, with runs counted and a row for each', { timeout: 120_000 }, async () => {
  const { redisVersion, series } = await measure(quickPlan, () => {});
  expect(redisVersion).toMatch(/^\d+\.\d+/);
  expect(new Set(series.map(({ kind, replicas }) => `${kind} ${replicas}`))).toEqual(
    new Set(['streams 1', 'streams 2', 'redis 1', 'redis 2', 'tcp 1']),
  );
  for (const { kind, replicas, callers, rounds } of series) {
    const [{ callsPerSecond, p50, p99, cpu, runs }] = rounds as [(typeof rounds)[number]];
    expect(callsPerSecond, `${kind} ${replicas} ${callers}`).toBeGreaterThan(0);
    expect(p50).toBeLessThanOrEqual(p99);
    expect(cpu).toBeGreaterThan(0);
    // Publish and subscribe runs a call on every replica.
    expect(runs).toBe(kind === 'redis' ? replicas : 1);
  }
  const lines = report(series).split('\n');
  expect(lines.filter((line) => line.startsWith('| ') && !line.startsWith('| --'))).toHaveLength(1 + series.length);
  expect(lines.filter((line) => line.startsWith('CPU per call with'))).toHaveLength(2);
});
