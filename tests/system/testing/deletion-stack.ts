import assert from 'node:assert/strict';
import { Queue } from 'bullmq';
import pg from 'pg';
import { deletionQueue, type DeletionJob } from '#contracts';
import { AppStack, type AppProcess, eventually } from '#testing';
import { queuePrefix } from '../../../apps/deletion-worker/src/queue/queue-options.js';
import { Barrier, barriers, type Moment } from './barrier.js';
import { SimulatedUser } from './simulated-user.js';

/** A request to each app for a user without data, with the expected status. */
const probes = { subscription: '/subscriptions', episode: '/episodes', worker: '/deletions/1' };

/**
 * The whole system as built processes on its own Postgres, Redis and Redis of the queue, with
 * methods that cause faults of deletions.
 */
export class DeletionStack {
  private crashes: Promise<void> = Promise.resolve();

  private constructor(
    readonly stack: AppStack,
    readonly gateway: AppProcess,
    /** The process of each app that runs now. */
    readonly running: { subscription: AppProcess; episode: AppProcess; worker: AppProcess },
    /** A connection with all rights. */
    readonly owner: pg.Pool,
    /** The deletion queue of the worker. */
    readonly queue: Queue<DeletionJob>,
  ) {}

  /** @param durable whether killed servers keep their data. */
  static async open(
    environment: Readonly<Record<string, string>> = {},
    durable = false,
  ): Promise<DeletionStack> {
    const stack = await AppStack.open({
      ownQueue: true,
      durablePostgres: durable,
      durableRedis: durable,
      environment,
    });
    try {
      const owner = new pg.Pool({ connectionString: stack.postgres.url, max: 20 });
      owner.on('error', () => {});
      await owner.query(barriers);
      const [gateway, subscription, episode, worker] = await stack.start([
        'gateway',
        'subscription',
        'episode',
        'deletion-worker',
      ]);
      const connection = { url: stack.queueRedis.url, retryStrategy: () => 50 };
      const queue = new Queue<DeletionJob>(deletionQueue.name, { connection, prefix: queuePrefix });
      queue.on('error', () => {});
      const running = { subscription: subscription!, episode: episode!, worker: worker! };
      const opened = new DeletionStack(stack, gateway!, running, owner, queue);
      await Promise.all(
        (['subscription', 'episode', 'worker'] as const).map((app) => opened.found(app)),
      );
      return opened;
    } catch (error) {
      await stack.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.queue.close(), this.owner.end()]).catch(() => undefined);
    await this.stack.close();
  }

  /** @throws Error if an app exited unexpectedly, with its last output. */
  checkAlive(): void {
    for (const process of [
      this.gateway,
      this.running.subscription,
      this.running.episode,
      this.running.worker,
    ])
      if (process.hasExited)
        throw new Error(`the ${process.app} exited unexpectedly\n${process.output.slice(-5_000)}`);
  }

  /** Returns a new user. */
  async newUser(): Promise<SimulatedUser> {
    return new SimulatedUser(await this.stack.device(this.gateway));
  }

  /** Restarts a killed or stopped app, and waits until the gateway detects it. */
  async restart(
    app: keyof DeletionStack['running'],
    environment: Readonly<Record<string, string>> = {},
  ) {
    const [started] = await this.stack.start(
      [app === 'worker' ? 'deletion-worker' : app],
      environment,
    );
    this.running[app] = started!;
    await this.found(app);
  }

  /** Resolves when the gateway has found a replica of an app. */
  private async found(app: keyof DeletionStack['running']): Promise<void> {
    const { device } = await this.newUser();
    const isFound = async () =>
      assert.notEqual((await device.send('GET', probes[app])).status, 503);
    await eventually(isFound, { timeout: 20_000 });
  }

  /** Kills and restarts an app; crashes run one after another. */
  async crash(app: keyof DeletionStack['running']): Promise<void> {
    const crashed = this.crashes.then(async () => {
      await this.running[app].kill();
      await this.restart(app);
    });
    this.crashes = crashed.catch(() => undefined);
    return crashed;
  }

  /** Closes a {@link Barrier} for one user. */
  hold(moment: Moment, userId: string): Promise<Barrier> {
    return Barrier.close(this.stack.postgres.url, moment, userId);
  }

  /** Ages a user's records by half a minute, so that a relay resends those that have not ended. */
  async letResend(userId: string): Promise<void> {
    await this.owner.query(
      `UPDATE deletion.deletions SET sent_at = sent_at - interval '31 seconds'
       WHERE status = 'PENDING' AND user_id = $1`,
      [userId],
    );
  }

  /** Describes a user's pending deletions: records, queue and the worker's last output. */
  async pending(userId: string): Promise<unknown> {
    const { rows } = await this.owner.query(
      `SELECT id, status, job_number, sent_at
       FROM deletion.deletions WHERE user_id = $1 AND status = 'PENDING'`,
      [userId],
    );
    const jobs = await Promise.all(
      rows.map(async ({ id, job_number: jobNumber }) =>
        this.queue.getJobState(`deletion-${String(id)}-${String(jobNumber)}`),
      ),
    );
    const [counts, isPaused] = await Promise.all([
      this.queue.getJobCounts(),
      this.queue.isPaused(),
    ]);
    return { rows, jobs, counts, isPaused, worker: this.running.worker.output.slice(-3_000) };
  }

  /** Counts violated invariants: rows without their parent row, and wrong totals. */
  async orphans(): Promise<{
    episodes: number;
    states: number;
    syncIds: number;
    miscounted: number;
  }> {
    const { rows } = await this.owner.query<{
      episodes: number;
      states: number;
      syncIds: number;
      miscounted: number;
    }>(`
      SELECT
        (SELECT count(*)::int FROM episode.episodes e WHERE NOT EXISTS (
          SELECT FROM subscription.subscriptions s
          WHERE s.user_id = e.user_id AND s.id = e.subscription_id
            AND s.deleted IS NULL)) AS episodes,
        (SELECT count(*)::int FROM episode.states t WHERE NOT EXISTS (
          SELECT FROM episode.episodes e
          WHERE e.user_id = t.user_id AND e.id = t.id AND e.sync_id = t.sync_id)) AS states,
        (SELECT count(*)::int FROM episode.sync_ids i WHERE NOT EXISTS (
          SELECT FROM episode.episodes e
          WHERE e.user_id = i.user_id AND e.id = i.episode_id)) AS "syncIds",
        (SELECT count(*)::int FROM episode.totals t
         FULL JOIN (SELECT user_id, count(*) AS states FROM episode.states GROUP BY user_id) s
         USING (user_id)
         FULL JOIN (SELECT user_id, count(*) AS episodes FROM episode.episodes GROUP BY user_id) c
         USING (user_id)
         WHERE coalesce(t.episodes, 0) <> coalesce(c.episodes, 0)
           OR coalesce(s.states, 0) <> coalesce(c.episodes, 0)) AS miscounted`);
    return rows[0] as { episodes: number; states: number; syncIds: number; miscounted: number };
  }
}
