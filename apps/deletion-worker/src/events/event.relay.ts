import { setTimeout as delay } from 'node:timers/promises';
import {
  type BeforeApplicationShutdown,
  Injectable,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { Failure } from '#contracts';
import { countdown, type Database } from '#database';
import { Condition, type Log } from '#runtime';
import { failedBatches, publishedEvents } from './event.metrics.js';
import type { EventPublisher } from './event.publisher.js';
import { type EventBatch, takeBatch } from './event.repository.js';

/** Minimum interval of batches in milliseconds. */
const pollMs = 250;
/** Delay after a failure in milliseconds. */
const retryMs = 1_000;
/** Time limit of a batch in milliseconds. */
const batchLimitMs = 10_000;
/** Maximum number of rows per batch. */
const maxBatchSize = 5_000;

/**
 * Publishes the rows of the outbox. Every replica has a relay; one at a time has a batch.
 * Invariants:
 * - The transaction that deletes rows commits after Redis stored their events on disk. An earlier
 *   failure keeps the rows, and the relay publishes them again.
 * - An event carries the user's clock at the snapshot of its batch. A transaction-level lock
 *   serializes batches, so the stamps of a user never decrease.
 * - A relay that lost its lock unknowingly can have a batch in flight. Its number is lower than
 *   that of later batches, and Redis rejects it after any of those.
 */
@Injectable()
export class EventRelay implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly stopping = new AbortController();
  private readonly condition = new Condition<'working' | 'Redis' | 'Postgres'>('working');
  private running: Promise<void> | undefined;
  /**
   * Number of the last batch in Redis when it rejected ours; the next batch gets a higher one.
   * Needed because a restored backup resets the sequence.
   */
  private lastStoredNumber = 0;

  constructor(
    private readonly database: Database,
    private readonly publisher: EventPublisher,
    private readonly log: Log,
    private readonly batchSize = maxBatchSize,
  ) {}

  onApplicationBootstrap(): void {
    this.running = this.run();
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.stopping.abort();
    await this.running;
  }

  private async run(): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      const pause = await this.attempt();
      await delay(pause, undefined, { signal }).catch(() => undefined);
    }
  }

  /** Publishes a batch. @returns the delay until the next one in milliseconds. */
  private async attempt(): Promise<number> {
    const startedAt = performance.now();
    try {
      const count = await this.publishBatch();
      publishedEvents.inc(count);
      const outage = this.condition.state;
      if (this.condition.becomes('working')) this.log.info({ outage }, 'event publishing resumed');
      return Math.max(pollMs - (performance.now() - startedAt), 0);
    } catch (error) {
      failedBatches.inc();
      // The relay retries. No event is lost.
      if (this.condition.state === 'working') {
        const outage = error instanceof Failure ? 'Postgres' : 'Redis';
        this.condition.becomes(outage);
        this.log.warn({ outage, err: error }, 'events delayed: Redis or Postgres unavailable');
      }
      return retryMs;
    }
  }

  /** Publishes a batch of rows. @returns the number of events. */
  async publishBatch(): Promise<number> {
    let fault: unknown;
    const count = await this.database.inTransaction(
      countdown(batchLimitMs),
      async (transaction) => {
        const batch = await takeBatch(transaction, this.batchSize, this.lastStoredNumber);
        if (!batch) return 0;
        // Rethrown outside the transaction: `Database` would otherwise report Postgres as
        // unavailable.
        await this.send(batch).catch((error: unknown) => (fault = error));
        if (fault === undefined) await transaction.commit();
        return batch.events.length;
      },
    );
    if (fault !== undefined) throw fault;
    return count;
  }

  private async send(batch: EventBatch): Promise<void> {
    const later = await this.publisher.publish(batch);
    if (later === undefined) return;
    this.lastStoredNumber = later;
    throw new Error(`event batch ${batch.number} is older than batch ${later}`);
  }
}
