import { Redis } from 'ioredis';
import { eventually } from '#testing';
import type { DeletionStack } from './deletion-stack.js';
import type { Moment } from './barrier.js';

/** Faults of the system during requests. */
export type Fault =
  | { fault: 'cut Postgres'; app: 'subscription' | 'episode' | 'deletion-worker' }
  | { fault: 'cut Redis'; of: 'redis' | 'queueRedis' }
  | { fault: 'jobs'; become: 'lost' | 'doubled' | 'late' }
  | { fault: 'queue emptied' }
  | { fault: 'kill'; app: 'subscription' | 'episode' }
  | { fault: 'kill'; app: 'worker'; at: Moment };

/** Runs requests of one user, and causes a fault while they run. */
export async function during(
  stack: DeletionStack,
  userId: string,
  fault: Fault,
  run: () => Promise<void>,
): Promise<void> {
  switch (fault.fault) {
    case 'cut Postgres':
      return both(run(), cutPostgres(stack, fault.app));
    case 'cut Redis':
      return both(run(), cutRedis(stack.stack[fault.of].url));
    case 'jobs':
      return withJobsHeld(stack, run, () => change(stack, userId, fault.become));
    case 'queue emptied':
      return withJobsHeld(stack, run, () => emptyRedis(stack.stack.queueRedis.url));
    case 'kill':
      return fault.app === 'worker'
        ? killWorker(stack, userId, fault.at, run)
        : both(run(), stack.crash(fault.app));
  }
}

async function both(...runs: [Promise<unknown>, Promise<unknown>]): Promise<void> {
  await Promise.all(runs);
}

async function cutPostgres(stack: DeletionStack, app: string): Promise<void> {
  await stack.owner.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE datname = current_database() AND application_name = $1`,
    [app],
  );
}

async function withRedis(url: string, act: (redis: Redis) => Promise<unknown>): Promise<void> {
  await eventually(async () => {
    const redis = new Redis(url, { retryStrategy: () => null });
    redis.on('error', () => {});
    await act(redis).finally(() => redis.disconnect());
  });
}

const cutRedis = (url: string) =>
  withRedis(url, async (redis) => {
    for (const type of ['pubsub', 'normal'])
      await redis.call('CLIENT', 'KILL', 'TYPE', type, 'SKIPME', 'yes');
  });

const emptyRedis = (url: string) => withRedis(url, (redis) => redis.flushall());

/** Pauses the queue during the requests, so that faults precede the runs of their jobs. */
async function withJobsHeld(
  stack: DeletionStack,
  run: () => Promise<void>,
  act: () => Promise<unknown>,
): Promise<void> {
  await eventually(() => stack.queue.pause());
  try {
    await run();
    await eventually(act);
  } finally {
    await eventually(() => stack.queue.resume());
  }
}

async function change(
  { owner, queue }: DeletionStack,
  userId: string,
  become: 'lost' | 'doubled' | 'late',
) {
  const { rows } = await owner.query<{ id: number; jobNumber: number }>(
    `SELECT id::float8 AS id, job_number AS "jobNumber" FROM deletion.deletions
     WHERE user_id = $1 AND job_number > 0`,
    [userId],
  );
  for (const { id, jobNumber } of rows) {
    const data = { userId, deletionId: id };
    if (become === 'lost') await queue.remove(`deletion-${id}-${jobNumber}`);
    // Also for ended deletions: an old job that reappears.
    else
      await queue.add('deletion', data, {
        jobId: `twin-${id}`,
        delay: become === 'late' ? 200 : 0,
      });
  }
}

/** Kills the worker at a step of the user's deletion, if one reaches it. */
async function killWorker(
  stack: DeletionStack,
  userId: string,
  at: Moment,
  run: () => Promise<void>,
): Promise<void> {
  const barrier = await eventually(() => stack.hold(at, userId));
  const killed = async () => {
    await barrier.reached(1_000).catch(() => []);
    await stack.crash('worker');
    // Postgres does not notice the death before it has run a commit that it has read.
    await (at === 'finished' ? barrier.open() : barrier.cut());
  };
  await both(
    run(),
    killed().finally(() => barrier.open()),
  );
}
