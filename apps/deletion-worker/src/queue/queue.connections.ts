import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { type connectRedis, warnOfDenial, warnOfEviction } from '#redis';
import type { Log } from '#runtime';
import type { Queue, QueueBaseOptions } from 'bullmq';

type Connect = (overrides?: Parameters<typeof connectRedis>[1]) => ReturnType<typeof connectRedis>;

/**
 * Holds the queue's two connections to Redis. The producer's commands fail immediately while Redis
 * is unavailable. The worker's commands wait. Both close after everything that uses them.
 */
@Injectable()
export class QueueConnections implements OnApplicationShutdown {
  private readonly producer: ReturnType<Connect>;
  private readonly worker: ReturnType<Connect>;
  private readonly queues: Queue[] = [];

  constructor(connect: Connect, log: Log) {
    this.producer = connect();
    this.worker = connect({
      maxRetriesPerRequest: null,
      enableOfflineQueue: true,
      // Resends unanswered commands after a reconnect. Otherwise the worker would wait permanently.
      // BullMQ detects a job that was claimed twice as stalled.
      autoResendUnfulfilledCommands: true,
      // Longer than a blocking command of the worker, which takes up to 10 s.
      socketTimeout: 15_000,
    });
    this.producer.once(
      'ready',
      () => void warnOfEviction(this.producer, log, 'the deletion queue'),
    );
    warnOfDenial(this.producer, log, 'the deletion queue');
    for (const connection of [this.producer, this.worker]) {
      connection.on('error', (error: Error) =>
        log.debug({ err: error }, 'deletion queue: Redis connection error'),
      );
    }
  }

  /** Returns the options of the queue to which jobs are added. */
  get forQueue(): QueueBaseOptions {
    // BullMQ reads the server's version once. If that fails, all later commands of the queue fail.
    return { connection: this.producer, skipVersionCheck: true };
  }

  /** Returns the options of the worker. */
  get forWorker(): QueueBaseOptions {
    // This connection retries the version check. Without the version BullMQ would wait for whole
    // seconds and start delayed retries late.
    return { connection: this.worker };
  }

  /**
   * Closes a queue with the connections. They report the same errors, so those of the queue are
   * ignored.
   */
  watch(queue: Queue): Queue {
    queue.on('error', () => undefined);
    this.queues.push(queue);
    return queue;
  }

  async onApplicationShutdown(): Promise<void> {
    // Connections first: closing a queue waits for a connection attempt.
    for (const connection of [this.producer, this.worker]) connection.disconnect();
    await Promise.all(this.queues.map((queue) => queue.close()));
  }
}
