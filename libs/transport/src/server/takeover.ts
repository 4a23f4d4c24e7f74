import type { Logger } from 'pino';
import {
  decodeEntry,
  encodeResult,
  type StreamEntry,
  consumerGroup,
  type ServiceKeys,
} from '../wire/format.js';
import type { RedisLink } from '../wire/redis-link.js';

/** Number of deliveries without an answer after which a request becomes a dead letter. */
const maxDeliveries = 3;

/** Maximum number of abandoned requests that are read together. */
const maxAbandonedRead = 100;

/** Reply to the caller of a request that became a dead letter. */
const deadLetterResult = encodeResult({ error: { code: 'unavailable' } });

export interface TakeoverOptions {
  readonly keys: ServiceKeys;
  readonly replica: string;
  /** Age in milliseconds of the last renewal after which a request counts as abandoned. */
  readonly abandonedMs: number;
  /** Returns Redis' time in milliseconds. */
  readonly now: () => number;
  /** Returns true if a request runs in this process and its caller still waits. */
  readonly isRunning: (entryId: string) => boolean;
}

/** A request that a replica has read and not answered. */
interface PendingRequest {
  readonly id: string;
  readonly deliveries: number;
}

/**
 * Takes over the requests of dead replicas.
 *
 * Invariants:
 * - A request belongs to one replica at a time, because only one of several concurrent `XCLAIM`
 *   with a minimum idle time succeeds.
 * - A run counts as a delivery, and a reservation does not. So requests that wait while replicas
 *   die do not become dead letters.
 * - A request past its deadline is never run.
 */
export class Takeover {
  /** Entry id of the request that this replica has reserved and not started; undefined if none. */
  reservedId?: string;
  takeovers = 0;
  deadLetters = 0;
  expiredRequests = 0;

  constructor(
    private readonly link: RedisLink,
    private readonly log: Logger,
    private readonly options: TakeoverOptions,
  ) {}

  /**
   * Reserves an abandoned request and returns it; `undefined` if there is none. Removes expired
   * ones, and moves those that were delivered too often to the dead letters.
   */
  async reserve(): Promise<StreamEntry | undefined> {
    const { keys, replica, abandonedMs } = this.options;
    this.reservedId = undefined;
    for (const pending of await this.readAbandoned()) {
      const fields = await this.link.redis.rpcReserve(
        keys.requests,
        consumerGroup,
        replica,
        abandonedMs,
        pending.id,
      );
      const entry = fields && decodeEntry(pending.id, fields);
      if (entry && (await this.endUnlessRunnable(entry, pending.deliveries))) {
        this.reservedId = entry.id;
        return entry;
      }
    }
    return undefined;
  }

  /**
   * Counts the delivery of the reserved request, directly before it runs.
   *
   * @returns false if another replica has taken it over, e.g. while this process was suspended.
   */
  async startReserved(entry: StreamEntry): Promise<boolean> {
    const { keys, replica } = this.options;
    const isOurs =
      (await this.link.redis.rpcDeliver(keys.requests, consumerGroup, replica, entry.id)) > 0;
    this.reservedId = undefined;
    if (!isOurs) return false;
    this.takeovers += 1;
    this.log.warn(
      { entry: entry.id, pattern: entry.request.pattern },
      'service request of a dead replica taken over and started again',
    );
    return true;
  }

  /** Gives up the reserved request. It becomes abandoned again, and a replica takes it over. */
  release(): void {
    this.reservedId = undefined;
  }

  /** Renews these requests and the reserved one, so that no other replica takes them over. */
  async renew(entryIds: readonly string[]): Promise<void> {
    const { keys, replica } = this.options;
    const ids = this.reservedId === undefined ? entryIds : [...entryIds, this.reservedId];
    if (ids.length > 0)
      await this.link.redis.rpcRenew(keys.requests, consumerGroup, replica, ...ids);
  }

  /** Moves a request of this replica to the dead letters; its caller gets `unavailable`. */
  async deadLetter(entryId: string, reason: string, deliveries: number): Promise<void> {
    const { replica } = this.options;
    const { requests, deadLetters } = this.options.keys;
    await this.link.redis.rpcDeadLetter(
      requests,
      deadLetters,
      consumerGroup,
      replica,
      entryId,
      reason,
      deliveries,
      deadLetterResult,
    );
    this.deadLetters += 1;
    this.log.error(
      { entry: entryId, reason, deliveries, stream: deadLetters },
      'service request failed: moved to the dead letters, caller gets unavailable',
    );
  }

  private async readAbandoned(): Promise<PendingRequest[]> {
    const { keys, abandonedMs, isRunning } = this.options;
    const rows = await this.link.redis.xpending(
      keys.requests,
      consumerGroup,
      'IDLE',
      abandonedMs,
      '-',
      '+',
      maxAbandonedRead,
    );
    return (rows as [id: string, replica: string, idleMs: number, deliveries: number][])
      .map(([id, , , deliveries]) => ({ id, deliveries }))
      .filter(({ id }) => !isRunning(id));
  }

  /**
   * Returns true if a request can run again. Otherwise removes it, or moves it to the dead letters,
   * and returns false.
   */
  private async endUnlessRunnable(entry: StreamEntry, deliveries: number): Promise<boolean> {
    const isLate = this.options.now() >= entry.deadline;
    // A request that two replicas did not answer can have killed both. Even if it is late, a dead
    // letter keeps it for diagnosis.
    if (deliveries >= maxDeliveries || (isLate && deliveries > 1)) {
      await this.deadLetter(entry.id, `no answer after ${deliveries} deliveries`, deliveries);
      return false;
    }
    if (!isLate) return true;
    await this.link.redis.rpcFinish(this.options.keys.requests, consumerGroup, 1, entry.id);
    this.expiredRequests += 1;
    return false;
  }
}
