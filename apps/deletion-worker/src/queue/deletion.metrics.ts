import { Counter, Histogram } from 'prom-client';
import type { Ending } from '../records/deletion.rule.js';

const endings = new Counter({
  name: 'podcast_sync_deletions_total',
  help: 'Deletions that ended here, by outcome.',
  labelNames: ['outcome'] as const,
});

const durations = new Histogram({
  name: 'podcast_sync_deletion_duration_seconds',
  help: 'From the request to the end of a deletion that ended here, by outcome.',
  labelNames: ['outcome'] as const,
  buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800, 3_600, 86_400],
});

/** Attempts at carrying a deletion out: `done`, or the kind of fault that ended them. */
export const attempts = new Counter({
  name: 'podcast_sync_deletion_attempts_total',
  help: 'Attempts at carrying a deletion out: done, or away, passing or lasting by the fault that ended them.',
  labelNames: ['result'] as const,
});

const erasures = new Counter({
  name: 'podcast_sync_erasures_total',
  help: 'Erasures of users that ended here, by outcome; one in failure is for an operator.',
  labelNames: ['outcome'] as const,
});

const erasureDurations = new Histogram({
  name: 'podcast_sync_erasure_duration_seconds',
  help: 'From the request to the end of an erasure that ended here in success.',
  buckets: [0.1, 0.5, 1, 5, 10, 30, 60, 300, 1_800, 3_600, 86_400],
});

export const stalledJobs = new Counter({
  name: 'podcast_sync_deletion_stalled_jobs_total',
  help: 'Jobs whose worker fell silent, noticed here and given to another.',
});

for (const outcome of ['success', 'failure'] as const) {
  erasures.inc({ outcome }, 0);
  endings.inc({ outcome }, 0);
  durations.zero({ outcome });
}
for (const result of ['done', 'away', 'passing', 'lasting'] as const) attempts.inc({ result }, 0);

/** Counts a deletion that has ended, once its end is committed. @param age since its request, in seconds. */
export function countEnding({ status }: Ending, age: number): void {
  const outcome = status === 'SUCCESS' ? 'success' : 'failure';
  endings.inc({ outcome });
  durations.observe({ outcome }, age);
}

/** Counts an erasure that has ended, once its end is committed. @param age since its request, in seconds. */
export function countErasure(outcome: 'success' | 'failure', age?: number): void {
  erasures.inc({ outcome });
  if (age !== undefined) erasureDurations.observe(age);
}
