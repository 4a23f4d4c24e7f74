import { setTimeout as delay } from 'node:timers/promises';
import { type BeforeApplicationShutdown, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { countdown, type Database } from '#database';
import { Condition, type Log } from '#runtime';
import { announced, failedBatches } from './event.metrics.js';
import type { EventPublisher } from './event.publisher.js';
import { type Batch, takeBatch } from './event.store.js';

/** How far apart looks into the outbox are at least, in milliseconds; what is written meanwhile is one batch. */
const pollMs = 250;
/** How long after a failure it is tried again, in milliseconds. */
const retryMs = 1_000;
/** How long one batch may take, in milliseconds. */
const batchLimitMs = 10_000;
/** Rows of the outbox in one batch at most. */
const largestBatch = 5_000;

/**
 * Announces what is in the outbox. Every replica has a relay, and one at a time has a batch. Invariants:
 * - rows are deleted in a transaction that commits once Redis has their events on its disk: whatever fails before
 *   leaves them, and they are announced again;
 * - an event says the user's clock as it stood when its batch was taken, and batches are taken one after another (a
 *   lock until the end of the transaction): a later one never has an older stamp of a user, whichever rows are in it;
 * - a relay that lost its lock without knowing may still have a batch on its way: its number is lower than that of any
 *   batch which was taken since, and Redis refuses it once one of those is there.
 */
@Injectable()
export class EventRelay implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly stopping = new AbortController();
  private readonly condition = new Condition<'working' | 'failing'>('working');
  private running: Promise<void> | undefined;
  /** The highest number that a batch of this relay was refused for. A sequence may go back, as with a backup. */
  private above = 0;

  constructor(
    private readonly database: Database,
    private readonly publisher: EventPublisher,
    private readonly log: Log,
    private readonly batchSize = largestBatch,
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

  /** @returns how long to wait for the next one, in milliseconds. */
  private async attempt(): Promise<number> {
    const begun = performance.now();
    try {
      const count = await this.announceBatch();
      announced.inc(count);
      if (this.condition.becomes('working')) this.log.info('events are announced again');
      return Math.max(pollMs - (performance.now() - begun), 0);
    } catch (error) {
      failedBatches.inc();
      // It tries again, and nothing is lost meanwhile.
      if (this.condition.becomes('failing')) this.log.warn({ err: error }, 'events wait: Redis or Postgres is away');
      return retryMs;
    }
  }

  /** Announces changes, as many rows as a batch has at most. @returns how many events that made. */
  async announceBatch(): Promise<number> {
    let fault: unknown;
    const count = await this.database.inTransaction(countdown(batchLimitMs), async (transaction) => {
      const batch = await takeBatch(transaction, this.batchSize, this.above);
      if (!batch) return 0;
      // Kept apart from what Postgres fails with, which says whether that is there.
      await this.publish(batch).catch((error: unknown) => (fault = error));
      if (fault === undefined) await transaction.commit();
      return batch.events.length;
    });
    if (fault !== undefined) throw fault;
    return count;
  }

  private async publish(batch: Batch): Promise<void> {
    this.publisher.hint(batch.events);
    const later = await this.publisher.publish(batch);
    if (later === undefined) return;
    this.above = later;
    throw new Error(`batch ${batch.number} of events comes after batch ${later}`);
  }
}
