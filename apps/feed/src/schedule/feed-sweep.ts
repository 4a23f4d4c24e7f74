import type { OnApplicationShutdown, OnModuleInit } from '@nestjs/common';
import { postgresOutage } from '#database';
import { FaultLog, type Log, RepeatingTask } from '#runtime';
import type { FeedRepository } from '../feed.repository.js';

/** Pauses in milliseconds: between sweeps, and between their steps. */
const [sweepMs, stepMs] = [3_600_000, 1_000];
/** Maximum number of feeds that a step deletes. A further step follows such a full step. */
const maxStepFeeds = 1_000;

/**
 * Deletes feeds that nobody reads, at the start and every hour (`FeedRepository.sweep`). Pushed
 * feeds also expire. So the sweep runs in replicas that fetch feeds and in replicas that answer
 * requests.
 */
export class FeedSweep implements OnModuleInit, OnApplicationShutdown {
  /** Pause before the next step. */
  private pauseMs = 0;
  private readonly faults: FaultLog;
  private readonly task: RepeatingTask;

  constructor(
    private readonly repository: FeedRepository,
    log: Log,
  ) {
    this.faults = new FaultLog(
      log,
      {
        failed: 'sweep of feeds failed, retrying in an hour: feeds that nobody reads are kept',
        recovered: 'sweep of feeds works again',
      },
      postgresOutage,
    );
    this.task = new RepeatingTask(
      () => this.pauseMs,
      () => this.runStep(),
      (error) => this.faults.recordFailure(error),
    );
  }

  onModuleInit(): void {
    this.task.start();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.task.stop();
  }

  private async runStep(): Promise<void> {
    this.pauseMs = sweepMs;
    if ((await this.repository.sweep(maxStepFeeds)) === maxStepFeeds) this.pauseMs = stepMs;
    this.faults.recordSuccess();
  }
}
