import { kinds } from './bench.contracts.js';
import type { Series } from './bench.report.js';
import { Variant, type Measurement } from './bench.variant.js';

/** How much is measured. */
export interface Plan {
  /** How often every variant is measured; several rounds even out what else the machine does. */
  readonly rounds: number;
  /** How long one measurement takes, in milliseconds. */
  readonly ms: number;
  /** How long each variant is warmed up with as many callers before the first round. */
  readonly warmUpMs: number;
}

/** Half a minute of rounds per transport, and a run that only shows that the bench works. */
export const fullPlan: Plan = { rounds: 7, ms: 1_000, warmUpMs: 1_500 };
export const quickPlan: Plan = { rounds: 1, ms: 100, warmUpMs: 50 };

/** Calls in flight. */
const callers = [1, 16, 64] as const;

/**
 * Measures all variants, interleaved in rounds. Each is up all the time, so that none pays for its start; the idle ones
 * do nothing but keep their heartbeats.
 *
 * @param progress gets a line for each thing that happens.
 */
export async function measure(plan: Plan, progress: (line: string) => void) {
  const variants = kinds.flatMap((kind) => (kind === 'tcp' ? [1] : [1, 2]).map((count) => new Variant(kind, count)));
  try {
    for (const variant of variants) {
      progress(`starting ${name(variant)}`);
      await variant.start();
    }
    for (const variant of variants)
      for (const count of callers) await variant.measure({ callers: count, ms: plan.warmUpMs });
    const redisVersion = await variants[0]!.redisVersion();
    return { redisVersion, series: await rounds(variants, plan, progress) };
  } finally {
    await Promise.all(variants.map((variant) => variant.stop()));
  }
}

async function rounds(variants: readonly Variant[], plan: Plan, progress: (line: string) => void): Promise<Series[]> {
  const all = callers.flatMap((count) =>
    variants.map((variant) => ({ variant, callers: count, rounds: [] as Measurement[] })),
  );
  for (let round = 1; round <= plan.rounds; round += 1)
    for (const one of all) {
      const measured = await one.variant.measure({ callers: one.callers, ms: plan.ms });
      one.rounds.push(measured);
      const found = `${measured.callsPerSecond.toFixed(0)} calls/s, ${measured.cpu.toFixed(0)} µs of CPU per call`;
      progress(`round ${round} of ${plan.rounds}: ${name(one.variant)}, ${one.callers} in flight: ${found}`);
    }
  return all.map(({ variant, ...one }) => ({ kind: variant.kind, replicas: variant.replicaCount, ...one }));
}

function name({ kind, replicaCount }: Variant): string {
  return `${kind} with ${replicaCount} replica${replicaCount > 1 ? 's' : ''}`;
}
