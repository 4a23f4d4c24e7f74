import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { type connectRedis, warnOfDenial, warnOfEviction } from '#redis';
import type { Log } from '#runtime';
import type { Queue, QueueBaseOptions } from 'bullmq';

/** Name of the queue's Redis in warnings, with the variables that set its URL. */
const redisPurpose = 'the deletion queue (QUEUE_REDIS_URL, else REDIS_URL)';

type ConnectRedis = (
  overrides?: Parameters<typeof connectRedis>[1],
) => ReturnType<typeof connectRedis>;

/**
 * Holds the queue's two connections to Redis, for adding jobs (producer) and for running them
 * (worker). While Redis is unavailable, commands of the producer fail immediately and commands of
 * the worker wait. Both connections close after the relay and the worker.
 */
@Injectable()
export class QueueConnections implements OnApplicationShutdown {
  private readonly producer: ReturnType<ConnectRedis>;
  private readonly worker: ReturnType<ConnectRedis>;
  private readonly queues: Queue[] = [];

  constructor(connect: ConnectRedis, log: Log) {
    this.producer = connect();
    this.worker = connect({
      maxRetriesPerRequest: null,
      enableOfflineQueue: true,
      // Unanswered commands are resent after a reconnect, because the worker would wait for their
      // answers forever. If a resent command claims a second job, the first one counts as stalled.
      autoResendUnfulfilledCommands: true,
      // The timeout is longer than a blocking command of the worker, which takes up to 10 s.
      socketTimeout: 15_000,
    });
    this.producer.once('ready', () => void warnOfEviction(this.producer, log, redisPurpose));
    warnOfDenial(this.producer, log, redisPurpose);
    for (const connection of [this.producer, this.worker]) {
      connection.on('error', (error: Error) =>
        log.debug({ err: error }, 'Redis connection of the deletion queue failed, reconnecting'),
      );
    }
  }

  /** Options of BullMQ's `Queue`, which adds jobs. */
  get forQueue(): QueueBaseOptions {
    // BullMQ would check the server's version once. After a failed check, all later commands of the
    // queue would fail.
    return { connection: this.producer, skipVersionCheck: true };
  }

  /** Options of BullMQ's `Worker`, which runs jobs. */
  get forWorker(): QueueBaseOptions {
    // The version check stays on, because this connection retries it. Without a version, BullMQ
    // waits in whole seconds and starts delayed jobs late.
    return { connection: this.worker };
  }

  /**
   * Registers a queue to close with the connections, and returns it. Errors of the queue are
   * ignored, because its connection also reports them.
   */
  addQueue(queue: Queue): Queue {
    queue.on('error', () => undefined);
    this.queues.push(queue);
    return queue;
  }

  async onApplicationShutdown(): Promise<void> {
    // The connections close first, because closing a queue waits for a running reconnect.
    for (const connection of [this.producer, this.worker]) connection.disconnect();
    await Promise.all(this.queues.map((queue) => queue.close()));
  }
}
