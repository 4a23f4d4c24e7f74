import type { Logger } from 'pino';
import {
  decodeEntry,
  encodeResult,
  type StreamEntry,
  group,
  type ServiceKeys,
} from '../wire/format.js';
import type { RedisLink } from '../wire/redis.link.js';

/** Number of deliveries without an answer after which a request becomes a dead letter. */
const maxDeliveries = 3;

/** Maximum number of abandoned requests that one step reads. */
const pollCount = 100;

/** Result of a request that became a dead letter. */
const deadLetterResult = encodeResult({ error: { code: 'unavailable' } });

/** Options of the takeover of abandoned requests. */
export interface TakeoverOptions {
  readonly keys: ServiceKeys;
  readonly replica: string;
  /** Age in milliseconds of the last renewal after which a request counts as abandoned. */
  readonly abandonedMs: number;
  readonly now: () => number;
  /** Returns true if a request runs in this process and its caller still waits. */
  readonly isRunning: (entryId: string) => boolean;
}

interface PendingRequest {
  readonly id: string;
  readonly deliveries: number;
}

/**
 * Takes over the requests of dead replicas.
 *
 * Invariants:
 * - A request belongs to one replica at a time: of several concurrent `XCLAIM` with a minimum idle
 *   time, one succeeds.
 * - A run counts as a delivery, and a reservation does not. So requests that wait while replicas
 *   die do not become dead letters.
 * - A request past its deadline is never run.
 */
export class Takeover {
  /** Id of the reserved request, which is renewed like a running request. */
  reserved?: string;
  taken = 0;
  deadLettered = 0;
  expired = 0;

  constructor(
    private readonly link: RedisLink,
    private readonly log: Logger,
    private readonly options: TakeoverOptions,
  ) {}

  /**
   * Reserves an abandoned request; `undefined` if there is none. Ends abandoned requests that have
   * expired or were delivered too often.
   */
  async reserve(): Promise<StreamEntry | undefined> {
    const { keys, replica, abandonedMs } = this.options;
    this.reserved = undefined;
    for (const pending of await this.abandoned()) {
      const fields = await this.link.redis.rpcReserve(
        keys.requests,
        group,
        replica,
        abandonedMs,
        pending.id,
      );
      const entry = fields && decodeEntry(pending.id, fields);
      if (entry && (await this.canRun(entry, pending.deliveries))) {
        this.reserved = entry.id;
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
  async begin(entry: StreamEntry): Promise<boolean> {
    const { keys, replica } = this.options;
    const isOurs = (await this.link.redis.rpcDeliver(keys.requests, group, replica, entry.id)) > 0;
    this.reserved = undefined;
    if (!isOurs) return false;
    this.taken += 1;
    this.log.warn(
      { entry: entry.id, pattern: entry.request.pattern },
      'request of a dead replica taken over',
    );
    return true;
  }

  /** Releases the reserved request. Replicas can take it over once it counts as abandoned. */
  release(): void {
    this.reserved = undefined;
  }

  /** Renews requests, so that no other replica takes them over. */
  async renew(entryIds: readonly string[]): Promise<void> {
    const { keys, replica } = this.options;
    const ids = this.reserved === undefined ? entryIds : [...entryIds, this.reserved];
    if (ids.length > 0) await this.link.redis.rpcRenew(keys.requests, group, replica, ...ids);
  }

  /** Moves a request of this replica to the dead letters; its caller gets `unavailable`. */
  async deadLetter(entryId: string, reason: string, deliveries: number): Promise<void> {
    const { replica } = this.options;
    const { requests, dead } = this.options.keys;
    await this.link.redis.rpcDeadLetter(
      requests,
      dead,
      group,
      replica,
      entryId,
      reason,
      deliveries,
      deadLetterResult,
    );
    this.deadLettered += 1;
    this.log.error(
      { entry: entryId, reason, deliveries, stream: dead },
      'request moved to the dead letters, caller gets unavailable',
    );
  }

  private async abandoned(): Promise<PendingRequest[]> {
    const { keys, abandonedMs, isRunning } = this.options;
    const rows = await this.link.redis.xpending(
      keys.requests,
      group,
      'IDLE',
      abandonedMs,
      '-',
      '+',
      pollCount,
    );
    return (rows as [id: string, replica: string, idleMs: number, deliveries: number][])
      .map(([id, , , deliveries]) => ({ id, deliveries }))
      .filter(({ id }) => !isRunning(id));
  }

  private async canRun(entry: StreamEntry, deliveries: number): Promise<boolean> {
    const late = this.options.now() >= entry.deadline;
    // A late request that two replicas did not answer can have killed both. The dead letter keeps
    // it for diagnosis.
    if (deliveries >= maxDeliveries || (late && deliveries > 1)) {
      await this.deadLetter(entry.id, `no answer after ${deliveries} deliveries`, deliveries);
      return false;
    }
    if (!late) return true;
    await this.link.redis.rpcFinish(this.options.keys.requests, group, 1, entry.id);
    this.expired += 1;
    return false;
  }
}
