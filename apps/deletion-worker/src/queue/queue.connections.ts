import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { type connectRedis, warnOfDenial, warnOfEviction } from '#redis';
import type { Log } from '#runtime';
import type { Queue, QueueBaseOptions } from 'bullmq';

type Connect = (overrides?: Parameters<typeof connectRedis>[1]) => ReturnType<typeof connectRedis>;

/**
 * The queue's connections to Redis: one for adding jobs, which fails at once when Redis is away, and one for working,
 * which waits for jobs as long as it takes. They are closed after everything that uses them.
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
      // Commands that had no answer when the connection was lost are sent again: else the worker would wait for ever
      // and take no more jobs. A job that was taken twice because of this is found as stalled.
      autoResendUnfulfilledCommands: true,
      // Longer than the worker ever waits for a job in one command, which is 10 s.
      socketTimeout: 15_000,
    });
    this.producer.once('ready', () => void warnOfEviction(this.producer, log, 'the deletion queue'));
    warnOfDenial(this.producer, log, 'the deletion queue');
    for (const connection of [this.producer, this.worker]) {
      connection.on('error', (error: Error) => log.debug({ err: error }, "the queue's Redis can't be reached"));
    }
  }

  /** What the queue that jobs are added to has to be given. */
  get forQueue(): QueueBaseOptions {
    // BullMQ asks for the server's version once, and if that command fails, so does every later one of the queue.
    return { connection: this.producer, skipVersionCheck: true };
  }

  /** What the worker that takes them has to be given. */
  get forWorker(): QueueBaseOptions {
    // Here the version is asked for: this connection sends commands again until they are answered. Without the version
    // BullMQ would wait for whole seconds, and start delayed retries late.
    return { connection: this.worker };
  }

  /** Closes a queue together with the connections. Its errors are ignored: the connections report the same ones. */
  watch(queue: Queue): Queue {
    queue.on('error', () => undefined);
    this.queues.push(queue);
    return queue;
  }

  async onApplicationShutdown(): Promise<void> {
    // Connections first: a queue that is closed waits for a connection that is still being made.
    for (const connection of [this.producer, this.worker]) connection.disconnect();
    await Promise.all(this.queues.map((queue) => queue.close()));
  }
}
