import type { OnApplicationShutdown } from '@nestjs/common';
import { type ChangeEvent, eventHints, eventStream } from '#contracts';
import { type connectRedis, warnOfDenial, warnOfEviction } from '#redis';
import type { Log } from '#runtime';
import type { Batch } from './event.store.js';

type Redis = ReturnType<typeof connectRedis>;

/** How long Redis may take to have a batch on its disk, or on replicas, in milliseconds. */
const writtenLimitMs = 3_000;

/**
 * Appends a batch, unless a later one was appended before: KEYS stream, last number; ARGV number, entries that are kept,
 * and the fields of the events. Answers the last number where that is why nothing was appended.
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

/** A server that does not know how to wait for its disk, has no file to write to, or does not let this user wait. */
const keepsLess = /unknown command|appendonly is disabled|NOPERM/i;

/** How many entries are kept, about, and how many replicas of Redis have to have what is acknowledged. */
interface PublisherOptions {
  readonly maxEntries: number;
  readonly replicas: number;
}

/** The stream of events in Redis. Invariant: what {@link publish} has returned of survives a crash of that Redis. */
export class EventPublisher implements OnApplicationShutdown {
  private warned = false;

  /** @param hints the Redis that carries requests. */
  constructor(
    private readonly redis: Redis,
    private readonly hints: Redis,
    private readonly options: PublisherOptions,
    private readonly log: Log,
  ) {
    redis.once('ready', () => void warnOfEviction(redis, log, 'the events'));
    warnOfDenial(redis, log, 'the events');
    for (const connection of [redis, hints])
      connection.on('error', (error: Error) => log.debug({ err: error }, 'the Redis of the events can not be reached'));
  }

  /**
   * Appends a batch, and waits until Redis has it on its disk.
   *
   * @returns the number of a later batch that was appended before; then this one was not.
   * @throws Error when Redis can't say that it has it. It may have it nevertheless.
   */
  async publish({ number, events }: Batch): Promise<number | undefined> {
    const fields = events.flatMap(({ user, kinds, stamp }) => [user, kinds, stamp]);
    const { key, batchKey } = eventStream;
    // In one pipeline, so that it is asked on the connection that has written: on another one it would answer at once.
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
      throw new Error(`fewer than ${this.options.replicas} replicas of Redis have the events`);
    return undefined;
  }

  /** Tells who listens just now, if Redis can be reached. */
  hint(events: readonly ChangeEvent[]): void {
    this.hints.publish(eventHints.channel, JSON.stringify(events)).catch(() => undefined);
  }

  onApplicationShutdown(): void {
    for (const connection of [this.redis, this.hints]) connection.disconnect();
  }

  private checkWritten(written: Result | undefined): void {
    const error = written?.[0];
    if (!error) {
      const [local = 0] = resultOf<number[]>(written);
      if (local < 1) throw new Error(`Redis did not write the events to its disk within ${writtenLimitMs} ms`);
    } else if (!keepsLess.test(error.message)) throw error;
    else if (!this.warned) {
      this.warned = true;
      const reason = error.message;
      this.log.warn(
        { reason },
        'the Redis of the events may lose some in a crash: with an append-only file, and from 7.2 on, it would not',
      );
    }
  }
}

type Result = [error: Error | null, value: unknown];

function resultOf<Value>(result: Result | undefined): Value {
  const [error, value] = result ?? [new Error('Redis did not answer')];
  if (error) throw error;
  return value as Value;
}
