import { Controller } from '@nestjs/common';
import { type ErasureJob, eraseUser, type RequestOf, unavailable } from '#contracts';
import { countdown, Database, type PgTransaction } from '#database';
import { RevocationWriter } from '#identity';
import { traceHeaders } from '#runtime';
import { type CallContext, Handle } from '#transport';
import { LRUCache } from 'lru-cache';
import { DeletionRelay } from '../queue/deletion-relay.js';
import { countErasure } from '../records/deletion.metrics.js';
import {
  endErasure,
  eraseStep,
  erasurePhases,
  readPendingErasures,
  recordErasure,
} from './erasure.repository.js';
import { AofCleaner } from './aof-cleaner.js';

/** Maximum number of rows per step. A step holds its locks for some tens of milliseconds. */
const maxRowsPerStep = 2_000;
/** Time limit of a step in milliseconds. */
const stepLimitMs = 30_000;
/** Maximum number of users that share one AOF rewrite. */
const maxUsersPerRewrite = 10_000;
/**
 * Time in milliseconds for which a user needs no second AOF rewrite. It is shorter than the hour
 * after which an erased user id can be admitted again.
 */
const rewrittenTtlMs = 30 * 60_000;

/**
 * Records and processes erasures (docs/design/erasure.md). Invariants:
 * - The record and the refusal of the user are one commit under the user's clock. Earlier writes
 *   have ended and later ones are refused, so deleted rows never return.
 * - Each step is a transaction under the locks of clock and record. If a worker dies, another one
 *   repeats the steps and finds only the remaining rows.
 * - SUCCESS commits with the last deleted rows, after the rewrite of Redis' append-only file (AOF).
 *   SUCCESS refuses the user permanently. Transient faults are retried without limit.
 * - One AOF rewrite covers all users whose erasure was PENDING before the rewrite started, because
 *   these users are refused and their credentials are revoked. Each worker does its own rewrite.
 */
@Controller()
export class ErasureService {
  /** Ids of users for whom this process did an AOF rewrite in the last {@link rewrittenTtlMs}. */
  private readonly usersOfLastRewrites = new LRUCache<string, true>({
    max: maxUsersPerRewrite,
    ttl: rewrittenTtlMs,
  });
  /** The running AOF rewrite of this process; undefined if none is running. */
  private currentRewrite: Promise<void> | undefined;

  constructor(
    private readonly database: Database,
    private readonly relay: DeletionRelay,
    private readonly revocations: RevocationWriter,
    private readonly aofCleaner: AofCleaner,
  ) {}

  /** Records an erasure (`deletion.erase_user`). A repetition has no effect. */
  @Handle(eraseUser)
  async request(
    { userId }: RequestOf<typeof eraseUser>,
    context: Pick<CallContext, 'correlationId' | 'remainingMs'>,
  ) {
    const { correlationId } = context;
    const origin = {
      ...traceHeaders(),
      ...(correlationId !== undefined && { correlationId }),
    };
    const status = await recordErasure(this.database, userId, origin, () => context.remainingMs());
    this.relay.pollNow();
    await this.revocations.revoke([{ kind: 'user', id: userId }]);
    return { status };
  }

  /**
   * Erases a user, or continues an earlier attempt.
   *
   * @param isStopping returns true if this worker stops. Another worker then continues.
   * @returns true if the erasure ended in SUCCESS; false if there is no record or it is final.
   * @throws Failure `unavailable` when stopping.
   */
  async process(
    { userId }: Pick<ErasureJob, 'userId'>,
    isStopping: () => boolean,
  ): Promise<boolean> {
    // The user's credentials are revoked again: the command `erase` has no connection to Redis, and
    // Redis can have been unavailable during the request.
    await this.revocations.revoke([{ kind: 'user', id: userId }]);
    for (const phase of erasurePhases) {
      let fromKey = phase.lowestKey;
      const isDone = await this.repeatStep(isStopping, async (transaction) => {
        const step = await eraseStep(transaction, userId, phase, fromKey, maxRowsPerStep);
        fromKey = step?.last ?? fromKey;
        return step?.rows;
      });
      if (!isDone) return false;
    }
    await this.waitForRewrite(userId, isStopping);
    const ageSeconds = await this.inStepTransaction((transaction) =>
      endErasure(transaction, this.database, userId, maxRowsPerStep),
    );
    if (ageSeconds === undefined) return false;
    countErasure('success', ageSeconds);
    return true;
  }

  /** Waits for an AOF rewrite that covers the user. Concurrent erasures share a rewrite. */
  private async waitForRewrite(userId: string, isStopping: () => boolean): Promise<void> {
    while (!this.usersOfLastRewrites.has(userId)) {
      this.currentRewrite ??= this.rewriteFiles(userId, isStopping).finally(
        () => (this.currentRewrite = undefined),
      );
      await this.currentRewrite;
    }
  }

  /** Rewrites the append-only files for the user and for other users with a PENDING erasure. */
  private async rewriteFiles(userId: string, isStopping: () => boolean): Promise<void> {
    const userIds = await readPendingErasures(this.database, maxUsersPerRewrite - 1);
    if (!userIds.includes(userId)) userIds.push(userId);
    await this.revocations.revoke(userIds.map((id) => ({ kind: 'user', id })));
    await this.aofCleaner.rewriteAppendOnlyFiles(isStopping);
    for (const user of userIds) this.usersOfLastRewrites.set(user, true);
  }

  /**
   * Repeats a step until the step deletes fewer rows than its limit.
   *
   * @returns false if the erasure is not PENDING, else true.
   */
  private async repeatStep(
    isStopping: () => boolean,
    step: (transaction: PgTransaction) => Promise<number | undefined>,
  ): Promise<boolean> {
    for (;;) {
      if (isStopping()) throw unavailable('the worker stops');
      const rows = await this.inStepTransaction(step);
      if (rows === undefined) return false;
      if (rows < maxRowsPerStep) return true;
    }
  }

  private inStepTransaction<Result>(
    step: (transaction: PgTransaction) => Promise<Result>,
  ): Promise<Result> {
    return this.database.inTransaction(countdown(stepLimitMs), step);
  }
}
