import { Controller } from '@nestjs/common';
import { type ErasureJob, eraseUser, type ReplyOf, type RequestOf, unavailable } from '#contracts';
import { countdown, Database, type PgTransaction } from '#database';
import { RevocationWriter } from '#identity';
import { traceHeaders } from '#runtime';
import { type CallContext, Handle } from '#transport';
import { LRUCache } from 'lru-cache';
import { DeletionRelay } from '../queue/deletion.relay.js';
import { countErasure } from '../records/deletion.metrics.js';
import {
  endErasure,
  eraseAccountStep,
  eraseStep,
  phases,
  readPendingErasures,
  recordErasure,
} from './erasure.repository.js';
import { AofCleaner } from './aof.cleaner.js';

/** Maximum number of rows per step, which holds its locks for some ten milliseconds. */
const rowsOfStep = 2_000;
/** Time limit of a step in milliseconds. */
const stepLimitMs = 30_000;
/** Maximum users whose requests one rewrite removes. */
const usersOfRewrite = 10_000;
/**
 * Time in milliseconds for which a user needs no other rewrite. Shorter than the hour after which
 * an erased id can be admitted again.
 */
const rewrittenTtlMs = 30 * 60_000;

/**
 * Records and processes erasures (docs/design/erasure.md). Invariants:
 * - Record and refusal are one commit under the user's clock. No earlier write is still running and
 *   no later one starts, so deleted rows never return.
 * - Each step is a transaction under the locks of clock and record. If a worker dies, another one
 *   starts again and finds only the remaining rows.
 * - SUCCESS commits with the last deleted rows, after the rewrite of Redis' append-only file, and
 *   refuses the user permanently. Transient faults are retried without limit.
 * - One AOF rewrite covers all users whose record was committed before it started: they are
 *   refused, and their credentials were revoked. So a group of users needs one rewrite per worker.
 */
@Controller()
export class ErasureService {
  /** Users whose earlier requests a rewrite has removed. */
  private readonly rewritten = new LRUCache<string, true>({
    max: usersOfRewrite,
    ttl: rewrittenTtlMs,
  });
  private rewriting: Promise<void> | undefined;

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
  ): Promise<ReplyOf<typeof eraseUser>> {
    const { correlationId } = context;
    const origin = {
      ...traceHeaders(),
      ...(correlationId !== undefined && { correlationId }),
    };
    const status = await recordErasure(this.database, userId, origin, () => context.remainingMs());
    this.relay.wake();
    await this.revocations.revoke([{ kind: 'user', id: userId }]);
    return { status };
  }

  /**
   * Erases a user, or continues an earlier attempt.
   *
   * @param isStopping returns true to leave the rest to another worker.
   * @returns true if the erasure ended here; false without a record or for a final one.
   * @throws Failure `unavailable` when stopping.
   */
  async process(
    { userId }: Pick<ErasureJob, 'userId'>,
    isStopping: () => boolean,
  ): Promise<boolean> {
    // An operator's command has no connection to Redis, and Redis can have been unavailable.
    await this.revocations.revoke([{ kind: 'user', id: userId }]);
    // Credentials go first.
    const account = await this.repeat(isStopping, (transaction) =>
      eraseAccountStep(transaction, userId, rowsOfStep),
    );
    if (!account) return false;
    for (const phase of phases) {
      let from = phase.first;
      const isDone = await this.repeat(isStopping, async (transaction) => {
        const step = await eraseStep(transaction, userId, phase, from, rowsOfStep);
        from = step?.last ?? from;
        return step?.rows;
      });
      if (!isDone) return false;
    }
    await this.clearFiles(userId, isStopping);
    const age = await this.inStep((transaction) =>
      endErasure(transaction, this.database, userId, rowsOfStep),
    );
    if (age === undefined) return false;
    countErasure('success', age);
    return true;
  }

  /** Waits for a rewrite that counts for the user. Concurrent erasures share it. */
  private async clearFiles(userId: string, isStopping: () => boolean): Promise<void> {
    while (!this.rewritten.has(userId)) {
      this.rewriting ??= this.rewrite(userId, isStopping).finally(
        () => (this.rewriting = undefined),
      );
      await this.rewriting;
    }
  }

  private async rewrite(userId: string, isStopping: () => boolean): Promise<void> {
    const users = await readPendingErasures(this.database, usersOfRewrite - 1);
    if (!users.includes(userId)) users.push(userId);
    await this.revocations.revoke(users.map((id) => ({ kind: 'user', id })));
    await this.aofCleaner.rewriteAppendOnlyFiles(isStopping);
    for (const user of users) this.rewritten.set(user, true);
  }

  /**
   * Repeats a step until it deletes fewer rows than its limit.
   *
   * @returns false for a final record.
   */
  private async repeat(
    isStopping: () => boolean,
    step: (transaction: PgTransaction) => Promise<number | undefined>,
  ): Promise<boolean> {
    for (;;) {
      if (isStopping()) throw unavailable('the worker stops');
      const rows = await this.inStep(step);
      if (rows === undefined) return false;
      if (rows < rowsOfStep) return true;
    }
  }

  private inStep<Result>(step: (transaction: PgTransaction) => Promise<Result>): Promise<Result> {
    return this.database.inTransaction(countdown(stepLimitMs), step);
  }
}
