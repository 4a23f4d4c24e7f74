import type { OnApplicationShutdown } from '@nestjs/common';
import { eventStream } from '#contracts';
import { type connectRedis, warnOfDenial, warnOfEviction } from '#redis';
import type { Log } from '#runtime';
import type { EventBatch } from './event.repository.js';

/** Time limit for Redis to store a batch on disk, and again on replicas, in milliseconds. */
const durabilityLimitMs = 3_000;

/**
 * Lua script that appends a batch to the stream, unless a batch with this or a higher number was
 * appended. KEYS: stream, key of the last batch number. ARGV: batch number, approximate maximum
 * number of entries, then user, kinds and stamp of each event. Returns the last batch number if it
 * rejects the batch, else false.
 */
const appendScript = `
  local last = redis.call('GET', KEYS[2])
  if last and tonumber(last) >= tonumber(ARGV[1]) then return last end
  for i = 3, #ARGV, 3 do
    redis.call('XADD', KEYS[1], '*', 'user', ARGV[i], 'kinds', ARGV[i + 1], 'stamp', ARGV[i + 2])
  end
  redis.call('XTRIM', KEYS[1], 'MAXLEN', '~', ARGV[2])
  redis.call('SET', KEYS[2], ARGV[1])
  return false
`;

/** Matches the error of a Redis that lacks or denies WAITAOF, or has no append-only file. */
const cannotConfirmDiskPattern = /unknown command|appendonly is disabled|NOPERM/i;

/** Name of the events' Redis in warnings, with the variables that set its URL. */
const redisPurpose = 'the events (EVENTS_REDIS_URL, else REDIS_URL)';

interface EventPublisherOptions {
  /** Approximate maximum number of entries in the stream. */
  readonly maxEntries: number;
  /** Number of Redis replicas that must store a batch. */
  readonly replicas: number;
}

/**
 * Publishes events in a Redis stream. Invariant: when {@link publish} resolves to undefined, the
 * batch survives a crash of Redis. If Redis cannot confirm writes to disk, the invariant does not
 * hold, and a warning is logged.
 */
export class EventPublisher implements OnApplicationShutdown {
  private hasWarned = false;

  constructor(
    private readonly redis: ReturnType<typeof connectRedis>,
    private readonly options: EventPublisherOptions,
    private readonly log: Log,
  ) {
    redis.once('ready', () => void warnOfEviction(redis, log, redisPurpose));
    warnOfDenial(redis, log, redisPurpose);
    redis.on('error', (error: Error) =>
      log.debug({ err: error }, 'Redis connection of the events failed, reconnecting'),
    );
  }

  /**
   * Appends a batch and waits until Redis has it on disk and on the required replicas.
   *
   * @returns undefined after success; if Redis rejected the batch, the last batch number in Redis.
   * @throws Error if Redis does not confirm the batch. Redis can nevertheless have stored the
   *   batch.
   */
  async publish({ number, events }: EventBatch): Promise<number | undefined> {
    const fields = events.flatMap(({ user, kinds, stamp }) => [user, kinds, stamp]);
    const { key, batchKey } = eventStream;
    // WAITAOF waits only for writes of its own connection, so one pipeline sends both commands.
    const pipeline = this.redis
      .pipeline()
      .eval(appendScript, 2, key, batchKey, number, this.options.maxEntries, ...fields)
      .call('WAITAOF', 1, 0, durabilityLimitMs);
    if (this.options.replicas > 0) pipeline.call('WAIT', this.options.replicas, durabilityLimitMs);
    const [appendResult, diskResult, replicaResult] = (await pipeline.exec()) ?? [];
    const lastNumber = readPipelineValue<string | null>(appendResult);
    if (lastNumber !== null) return Number(lastNumber);
    this.checkDisk(diskResult);
    if (replicaResult && readPipelineValue<number>(replicaResult) < this.options.replicas)
      throw new Error(
        `fewer than ${this.options.replicas} replicas of Redis (EVENTS_REPLICAS) stored the events`,
      );
    return undefined;
  }

  onApplicationShutdown(): void {
    this.redis.disconnect();
  }

  /** Logs a warning once if Redis cannot confirm writes to disk. @throws other faults. */
  private checkDisk(diskResult: PipelineResult | undefined): void {
    const error = diskResult?.[0];
    if (!error) {
      const [localCopies = 0] = readPipelineValue<number[]>(diskResult);
      if (localCopies < 1)
        throw new Error(`Redis did not write the events to disk within ${durabilityLimitMs} ms`);
    } else if (!cannotConfirmDiskPattern.test(error.message)) throw error;
    else if (!this.hasWarned) {
      this.hasWarned = true;
      const reason = error.message;
      this.log.warn(
        { reason },
        'events can be lost in a crash of Redis: ' +
          'use Redis 7.2 or later with an append-only file, and allow WAITAOF',
      );
    }
  }
}

type PipelineResult = [error: Error | null, value: unknown];

function readPipelineValue<Value>(result: PipelineResult | undefined): Value {
  const [error, value] = result ?? [new Error('Redis did not answer')];
  if (error) throw error;
  return value as Value;
}
