import type { OnApplicationShutdown } from '@nestjs/common';
import { eventStream } from '#contracts';
import { type connectRedis, warnOfDenial, warnOfEviction } from '#redis';
import type { Log } from '#runtime';
import type { EventBatch } from './event.repository.js';

/** Time limit for storing a batch on disk or on replicas, in milliseconds. */
const writtenLimitMs = 3_000;

/**
 * Appends a batch unless a later one exists. KEYS stream, last number; ARGV number, maximum number
 * of entries, and the fields of the events. Returns the last number if it rejects the batch.
 */
const append = `
  local last = redis.call('GET', KEYS[2])
  if last and tonumber(last) >= tonumber(ARGV[1]) then return last end
  for i = 3, #ARGV, 3 do
    redis.call('XADD', KEYS[1], '*', 'user', ARGV[i], 'kinds', ARGV[i + 1], 'stamp', ARGV[i + 2])
  end
  redis.call('XTRIM', KEYS[1], 'MAXLEN', '~', ARGV[2])
  redis.call('SET', KEYS[2], ARGV[1])
  return false
`;

/** Errors of a server without WAITAOF, without an append-only file or without the privilege. */
const cannotConfirmDisk = /unknown command|appendonly is disabled|NOPERM/i;

/** Approximate number of entries in the stream, and number of replicas that must store a batch. */
interface PublisherOptions {
  readonly maxEntries: number;
  readonly replicas: number;
}

/**
 * Publishes events in Redis. Invariant: batches for which {@link publish} resolved survive a crash.
 */
export class EventPublisher implements OnApplicationShutdown {
  private warned = false;

  constructor(
    private readonly redis: ReturnType<typeof connectRedis>,
    private readonly options: PublisherOptions,
    private readonly log: Log,
  ) {
    redis.once('ready', () => void warnOfEviction(redis, log, 'the events'));
    warnOfDenial(redis, log, 'the events');
    redis.on('error', (error: Error) =>
      log.debug({ err: error }, 'events: Redis connection error'),
    );
  }

  /**
   * Appends a batch and waits until it is on the disk of Redis.
   *
   * @returns undefined, or the number of a later batch because of which Redis rejected this one.
   * @throws Error if Redis does not confirm the batch. It can have stored it nevertheless.
   */
  async publish({ number, events }: EventBatch): Promise<number | undefined> {
    const fields = events.flatMap(({ user, kinds, stamp }) => [user, kinds, stamp]);
    const { key, batchKey } = eventStream;
    // WAITAOF covers the writes of its own connection only, so one pipeline sends both.
    const pipeline = this.redis
      .pipeline()
      .eval(append, 2, key, batchKey, number, this.options.maxEntries, ...fields)
      .call('WAITAOF', 1, 0, writtenLimitMs);
    if (this.options.replicas > 0) pipeline.call('WAIT', this.options.replicas, writtenLimitMs);
    const [appended, written, copied] = (await pipeline.exec()) ?? [];
    const last = resultOf<string | null>(appended);
    if (last !== null) return Number(last);
    this.checkWritten(written);
    if (copied && resultOf<number>(copied) < this.options.replicas)
      throw new Error(`fewer than ${this.options.replicas} replicas of Redis stored the events`);
    return undefined;
  }

  onApplicationShutdown(): void {
    this.redis.disconnect();
  }

  private checkWritten(written: PipelineResult | undefined): void {
    const error = written?.[0];
    if (!error) {
      const [local = 0] = resultOf<number[]>(written);
      if (local < 1)
        throw new Error(`Redis did not write the events to disk within ${writtenLimitMs} ms`);
    } else if (!cannotConfirmDisk.test(error.message)) throw error;
    else if (!this.warned) {
      this.warned = true;
      const reason = error.message;
      this.log.warn(
        { reason },
        'events can be lost in a crash of Redis: use Redis 7.2 or later with an append-only file',
      );
    }
  }
}

type PipelineResult = [error: Error | null, value: unknown];

function resultOf<Value>(result: PipelineResult | undefined): Value {
  const [error, value] = result ?? [new Error('Redis did not answer')];
  if (error) throw error;
  return value as Value;
}
