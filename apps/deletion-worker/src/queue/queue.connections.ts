import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { connectRedis, Log } from '#runtime';
import { isRefusal, warnOfEviction } from '#transport';
import type { Queue, QueueBaseOptions } from 'bullmq';

type Connect = (overrides?: Parameters<typeof connectRedis>[1]) => ReturnType<typeof connectRedis>;

/**
 * The queue's connections to Redis: one for adding jobs, which fails at once when Redis is away, and one for working,
 * which waits for jobs as long as it takes. They are let go last.
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
      // What had no answer when a connection was lost is sent again: a worker that waits for an answer which can't come
      // takes no job any more. A job that was taken twice thereby is found as stalled.
      autoResendUnfulfilledCommands: true,
      // Longer than the worker ever waits for a job in one command, which is 10 s.
      socketTimeout: 15_000,
    });
    this.producer.once('ready', () => void warnOfEviction(this.producer, log, 'the deletion queue'));
    this.reportAccessDenied(log);
    for (const connection of [this.producer, this.worker]) {
      connection.on('error', (error: Error) => log.debug({ err: error }, "the queue's Redis can't be reached"));
    }
  }

  /** Of the queue that jobs are added to. */
  get queueOptions(): QueueBaseOptions {
    // BullMQ asks for the server's version once, and where that one command fails, every later one of the queue does.
    return { connection: this.producer, skipVersionCheck: true };
  }

  /** Of the worker that takes them. */
  get workerOptions(): QueueBaseOptions {
    // Here that command is sent again until it is answered; without the version, retries would wait whole seconds.
    return { connection: this.worker };
  }

  /** Says once per outage what nobody but an operator can end. */
  private reportAccessDenied(log: Log): void {
    let refused = false;
    const failed = (error: Error) => {
      if (refused || !isRefusal(error)) return;
      refused = true;
      // Not the error itself: it carries the command, and with it the password.
      const reason = error.message;
      log.error(
        { reason },
        "the queue's Redis refuses this app, or is not trusted by it: check user, password and certificates",
      );
    };
    this.producer.on('error', failed);
    this.producer.on('node error', failed);
    this.producer.on('ready', () => (refused = false));
  }

  /** Closes a queue with the connections; its errors are the connections' and reported there. */
  watch(queue: Queue): Queue {
    queue.on('error', () => undefined);
    this.queues.push(queue);
    return queue;
  }

  async onApplicationShutdown(): Promise<void> {
    // A queue waits for a connection that is on its way; what is closed first, it need not wait for.
    for (const connection of [this.producer, this.worker]) connection.disconnect();
    await Promise.all(this.queues.map((queue) => queue.close()));
  }
}
