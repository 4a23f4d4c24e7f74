import { Counter, Histogram } from 'prom-client';
import type { DeletionOutcome } from './deletion.rules.js';

const deletionOutcomes = new Counter({
  name: 'podcast_sync_deletions_total',
  help: 'Deletions that ended in this process, by outcome.',
  labelNames: ['outcome'] as const,
});

const deletionDurations = new Histogram({
  name: 'podcast_sync_deletion_duration_seconds',
  help: 'Time from the request to the end of a deletion in this process, by outcome.',
  labelNames: ['outcome'] as const,
  buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800, 3_600, 86_400],
});

/** Counts attempts to run deletions, by result: `done`, or the kind of fault. */
export const deletionAttempts = new Counter({
  name: 'podcast_sync_deletion_attempts_total',
  help: 'Attempts at deletions: done, or the kind of fault: unavailable, transient or permanent.',
  labelNames: ['result'] as const,
});

const erasureOutcomes = new Counter({
  name: 'podcast_sync_erasures_total',
  help: 'Erasures that ended in this process, by outcome; a failure needs an operator.',
  labelNames: ['outcome'] as const,
});

const erasureDurations = new Histogram({
  name: 'podcast_sync_erasure_duration_seconds',
  help: 'Time from the request to the successful end of an erasure in this process.',
  buckets: [0.1, 0.5, 1, 5, 10, 30, 60, 300, 1_800, 3_600, 86_400],
});

export const stalledJobs = new Counter({
  name: 'podcast_sync_deletion_stalled_jobs_total',
  help: 'Jobs of unresponsive workers that this process detected.',
});

for (const outcome of ['success', 'failure'] as const) {
  erasureOutcomes.inc({ outcome }, 0);
  deletionOutcomes.inc({ outcome }, 0);
  deletionDurations.zero({ outcome });
}
for (const result of ['done', 'unavailable', 'transient', 'permanent'] as const)
  deletionAttempts.inc({ result }, 0);

/** Counts a deletion after the commit of its outcome. @param age seconds since the request. */
export function countOutcome({ status }: DeletionOutcome, age: number): void {
  const outcome = status === 'SUCCESS' ? 'success' : 'failure';
  deletionOutcomes.inc({ outcome });
  deletionDurations.observe({ outcome }, age);
}

/**
 * Counts an erasure after the commit of its outcome.
 *
 * @param age seconds since the request; absent for a failure.
 */
export function countErasure(outcome: 'success' | 'failure', age?: number): void {
  erasureOutcomes.inc({ outcome });
  if (age !== undefined) erasureDurations.observe(age);
}
