import type { OnApplicationShutdown, OnModuleInit } from '@nestjs/common';
import { postgresOutage } from '#database';
import { FaultLog, type Log, RepeatingTask } from '#runtime';
import type { FeedRepository } from '../feed.repository.js';

/** Pauses in milliseconds: between sweeps, and between their steps. */
const [sweepMs, stepMs] = [3_600_000, 1_000];
/** Maximum number of feeds that a step deletes. */
const stepFeeds = 1_000;

/**
 * Deletes feeds that nobody needs, at the start and every hour (`FeedRepository.sweep`). Pushed
 * feeds need it too, so it runs where feeds are fetched and where requests are answered.
 */
export class FeedSweep implements OnModuleInit, OnApplicationShutdown {
  private waitMs = 0;
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
      () => this.waitMs,
      () => this.sweep(),
      (error) => this.faults.recordFailure(error),
    );
  }

  onModuleInit(): void {
    this.task.start();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.task.stop();
  }

  private async sweep(): Promise<void> {
    this.waitMs = sweepMs;
    if ((await this.repository.sweep(stepFeeds)) === stepFeeds) this.waitMs = stepMs;
    this.faults.recordSuccess();
  }
}
