import type { QueueOptions, WorkerOptions } from 'bullmq';

/** Prefix of all keys of the queue. The braces keep them in one slot of a cluster. */
export const queuePrefix = '{bull}';

/** Retries and retention of jobs. */
export const queueOptions = {
  prefix: queuePrefix,
  // No code reads BullMQ's events. The job id of an erasure contains the user id.
  streams: { events: { maxLen: 100 } },
  defaultJobOptions: {
    // Retries after about 1, 2, 4, 8 and 16 s, with jitter to spread them. After a longer outage
    // the relay adds new jobs every 30 s. So no job waits long after Postgres is available again.
    attempts: 6,
    backoff: { type: 'exponential', delay: 1_000, jitter: 0.5 },
    // Sufficient for diagnosis. The records contain the history.
    removeOnComplete: { age: 3_600, count: 1_000 },
    removeOnFail: { age: 7 * 86_400, count: 10_000 },
  },
} satisfies Partial<QueueOptions>;

/** Locks of jobs and takeover of a killed worker's jobs. */
export const workerOptions = {
  prefix: queuePrefix,
  // Renewed after half of this time. A busy worker loses no job; a job that runs twice has one
  // effect.
  lockDuration: 10_000,
  // Interval in which another worker takes over jobs whose lock has expired.
  stalledInterval: 10_000,
  // A killed worker is not a fault of the deletion. A job that kills its workers fails after this
  // many takeovers, and the relay adds a new one.
  maxStalledCount: 5,
  // Delay after a failed command.
  runRetryDelay: 1_000,
} satisfies Partial<WorkerOptions>;
