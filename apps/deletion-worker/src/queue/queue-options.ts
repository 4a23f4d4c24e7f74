import type { QueueOptions, WorkerOptions } from 'bullmq';

/** Prefix of all keys of the queue. The braces keep them in one slot of a Redis Cluster. */
export const queuePrefix = '{bull}';

/** Options of the queue: retries and retention of jobs. */
export const queueOptions = {
  prefix: queuePrefix,
  // BullMQ keeps only 100 events. No code reads them, and job ids of erasures contain user ids.
  streams: { events: { maxLen: 100 } },
  defaultJobOptions: {
    // A job is retried after about 1, 2, 4, 8 and 16 s, with jitter. Then it counts as failed, and
    // the relay adds a new job when the record is due again, after 30 s.
    attempts: 6,
    backoff: { type: 'exponential', delay: 1_000, jitter: 0.5 },
    // Ended jobs are kept only for diagnosis, because the deletion records contain the history.
    removeOnComplete: { age: 3_600, count: 1_000 },
    removeOnFail: { age: 7 * 86_400, count: 10_000 },
  },
} satisfies Partial<QueueOptions>;

/** Options of the worker: locks of jobs, and takeover of the jobs of a killed worker. */
export const workerOptions = {
  prefix: queuePrefix,
  // The worker renews the lock of a job after half of this time. If a lock expires, the job runs
  // twice, which has the same effect as once.
  lockDuration: 10_000,
  // Interval at which each worker checks for jobs whose lock expired, and runs them.
  stalledInterval: 10_000,
  // A job fails after this many takeovers, because the job itself can have killed its workers. The
  // record stays PENDING, and the relay adds a new job.
  maxStalledCount: 5,
  // Delay of the worker after a failed command to Redis.
  runRetryDelay: 1_000,
} satisfies Partial<WorkerOptions>;
