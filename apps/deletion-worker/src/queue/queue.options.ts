import type { QueueOptions, WorkerOptions } from 'bullmq';

/** What all keys of the queue begin with: the braces keep them in one slot of a cluster. */
export const queuePrefix = '{bull}';

/** How a job is tried, and how long it is kept once it has ended. */
export const queueOptions = {
  prefix: queuePrefix,
  defaultJobOptions: {
    // Tried again after about 1, 2, 4, 8 and 16 s, with jitter, so that not all try at once. An outage that lasts
    // longer is left to the relay: where a job was given up it sends a new one, half a minute apart. So no job waits
    // for long once Postgres is back.
    attempts: 6,
    backoff: { type: 'exponential', delay: 1_000, jitter: 0.5 },
    // Enough to look into what happened; the history is in the records.
    removeOnComplete: { age: 3_600, count: 1_000 },
    removeOnFail: { age: 7 * 86_400, count: 10_000 },
  },
} satisfies Partial<QueueOptions>;

/** How a worker holds its jobs, and takes over those of one that was killed. */
export const workerOptions = {
  prefix: queuePrefix,
  // Renewed every half of this. A worker that is only busy loses no job; a job that runs twice has one effect.
  lockDuration: 10_000,
  // How soon another worker takes the job of one that was killed, once its lock has run out.
  stalledInterval: 10_000,
  // A worker that was killed is no fault of the deletion. A cascade that kills every worker is given up after this
  // many, and comes back as the relay's next job.
  maxStalledCount: 5,
  // How soon the queue is asked again after it could not answer.
  runRetryDelay: 1_000,
} satisfies Partial<WorkerOptions>;
