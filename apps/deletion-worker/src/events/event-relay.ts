import {
  type BeforeApplicationShutdown,
  Injectable,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { countdown, type Database, postgresOutage } from '#database';
import { redisOutage } from '#redis';
import { FaultLog, type Log, RepeatingTask } from '#runtime';
import { failedBatches, publishedEvents } from './event.metrics.js';
import type { EventPublisher } from './event-publisher.js';
import { type EventBatch, takeBatch } from './event.repository.js';

/** Minimum time between the starts of two batches of events, in milliseconds. */
const pollMs = 250;
/** Delay between a failed batch and the next attempt, in milliseconds. */
const retryMs = 1_000;
/** Time limit of a batch in milliseconds. */
const batchLimitMs = 10_000;
/** Maximum number of outbox rows from which the users of a batch are selected. */
const maxBatchSize = 5_000;

/**
 * Publishes the rows of the outbox `sync.events`. Every replica has a relay; an advisory lock lets
 * one of them at a time publish a batch. Invariants:
 * - The transaction that deletes rows commits only after Redis stored their events on disk. After a
 *   failure the rows remain, and a relay publishes them again.
 * - The stamp of an event is the user's clock in the snapshot that deletes the user's rows. As
 *   batches do not overlap, the stamps of a user never decrease.
 * - A relay whose connection to Postgres was lost can still send its batch. Redis rejects this
 *   batch if Redis already has a batch with the same or a higher number.
 */
@Injectable()
export class EventRelay implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly faults: FaultLog;
  /** Delay until the next batch in milliseconds. */
  private pauseMs = 0;
  private readonly task = new RepeatingTask(
    () => this.pauseMs,
    () => this.attemptBatch(),
  );
  /**
   * The last batch number in Redis, as of the last rejected batch; 0 before a rejection. The next
   * batch gets a higher number. Redis rejects batches after the restore of a Postgres backup,
   * because the restore resets the sequence of batch numbers.
   */
  private lastStoredNumber = 0;

  constructor(
    private readonly database: Database,
    private readonly publisher: EventPublisher,
    log: Log,
    private readonly batchSize = maxBatchSize,
  ) {
    this.faults = new FaultLog(
      log,
      {
        failed: 'events delayed: publishing failed, retrying',
        recovered: 'event publishing resumed',
      },
      (error) => postgresOutage(error) ?? redisOutage(error),
    );
  }

  onApplicationBootstrap(): void {
    this.task.start();
  }

  beforeApplicationShutdown(): Promise<void> {
    return this.task.stop();
  }

  /** Tries to publish a batch, and sets the delay until the next attempt. */
  private async attemptBatch(): Promise<void> {
    const startedAt = performance.now();
    try {
      const eventCount = await this.publishBatch();
      publishedEvents.inc(eventCount);
      this.faults.recordSuccess();
      this.pauseMs = Math.max(pollMs - (performance.now() - startedAt), 0);
    } catch (error) {
      failedBatches.inc();
      // No event is lost: the rows stay in the outbox, and the relay retries.
      this.faults.recordFailure(error);
      this.pauseMs = retryMs;
    }
  }

  /**
   * Publishes a batch of rows.
   *
   * @returns the number of events; 0 without rows, or while another relay publishes.
   * @throws the fault of Redis.
   */
  async publishBatch(): Promise<number> {
    let redisFault: unknown;
    const eventCount = await this.database.inTransaction(
      countdown(batchLimitMs),
      async (transaction) => {
        const batch = await takeBatch(transaction, this.batchSize, this.lastStoredNumber);
        if (!batch) return 0;
        // The fault is thrown after the transaction, because `Database` would report a fault in
        // the transaction as an outage of Postgres.
        await this.sendBatch(batch).catch((error: unknown) => (redisFault = error));
        if (redisFault === undefined) await transaction.commit();
        return batch.events.length;
      },
    );
    if (redisFault !== undefined) throw redisFault;
    return eventCount;
  }

  private async sendBatch(batch: EventBatch): Promise<void> {
    const lastNumber = await this.publisher.publish(batch);
    if (lastNumber === undefined) return;
    this.lastStoredNumber = lastNumber;
    throw new Error(
      `Redis rejected event batch ${batch.number}: it already has batch ${lastNumber}; retrying`,
    );
  }
}
