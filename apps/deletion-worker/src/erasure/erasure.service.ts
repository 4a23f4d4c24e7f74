import { Controller } from '@nestjs/common';
import { type ErasureJob, eraseUser, type ReplyOf, type RequestOf, unavailable } from '#contracts';
import { countdown, Database, type PgTransaction } from '#database';
import { traceHeaders } from '#runtime';
import { type CallContext, Handle } from '#transport';
import { DeletionRelay } from '../queue/deletion.relay.js';
import { countErasure } from '../queue/deletion.metrics.js';
import { ErasureNotice } from './erasure.notice.js';
import { endErasure, eraseAccountStep, eraseStep, phases, recordErasure } from './erasure.store.js';

/** Rows that one step removes at most, so that it holds the user's clock, and its locks, for a few tens of milliseconds. */
const rowsOfStep = 2_000;
/** How long one step may take, in milliseconds. */
const stepLimitMs = 30_000;

/**
 * The lifecycle of erasures (docs/erasure.md). Invariants:
 * - with the record the user is refused, in one commit under the user's clock: no write begins after it, and none before
 *   it is still running, so what a step has removed never comes back;
 * - every step is a transaction of its own under the clock and the record's lock, and may be the last thing that a worker
 *   did: any other worker goes on by beginning anew, and finds only what is left;
 * - a record ends in SUCCESS in the commit that removes the last rows, and then refuses the user for ever. What fails
 *   for a passing reason is tried again for as long as it takes.
 */
@Controller()
export class ErasureService {
  constructor(
    private readonly database: Database,
    private readonly relay: DeletionRelay,
    private readonly notice: ErasureNotice,
  ) {}

  /** Records that a user is to be erased (`deletion.erase_user`). Twice is once. */
  @Handle(eraseUser)
  async request(
    { userId }: RequestOf<typeof eraseUser>,
    context: Pick<CallContext, 'correlationId' | 'remainingMs'>,
  ): Promise<ReplyOf<typeof eraseUser>> {
    const { correlationId } = context;
    const origin = { ...traceHeaders(), ...(correlationId !== undefined && { requestId: correlationId }) };
    const status = await recordErasure(this.database, userId, origin, () => context.remainingMs());
    this.relay.wake();
    await this.notice.give(userId);
    return { status };
  }

  /**
   * Erases a user, from wherever an earlier attempt ended.
   *
   * @param stopping whether to leave the rest to another worker.
   * @returns whether it ended here: not where there is no such record, or it had ended before.
   * @throws Failure `unavailable` where it was told to stop.
   */
  async process({ userId }: Pick<ErasureJob, 'userId'>, stopping: () => boolean): Promise<boolean> {
    // An operator's command has no Redis; and it may have been away before.
    await this.notice.give(userId);
    // What one signs in with goes first.
    const account = await this.repeat(stopping, (transaction) => eraseAccountStep(transaction, userId, rowsOfStep));
    if (!account) return false;
    for (const phase of phases) {
      let from = phase.first;
      const isDone = await this.repeat(stopping, async (transaction) => {
        const step = await eraseStep(transaction, userId, phase, from, rowsOfStep);
        from = step?.last ?? from;
        return step?.rows;
      });
      if (!isDone) return false;
    }
    const age = await this.inStep((transaction) => endErasure(transaction, this.database, userId, rowsOfStep));
    if (age === undefined) return false;
    countErasure('success', age);
    return true;
  }

  /** Repeats a step until it removes less than it may. @returns false where the record has ended. */
  private async repeat(
    stopping: () => boolean,
    step: (transaction: PgTransaction) => Promise<number | undefined>,
  ): Promise<boolean> {
    for (;;) {
      if (stopping()) throw unavailable('the worker stops');
      const rows = await this.inStep(step);
      if (rows === undefined) return false;
      if (rows < rowsOfStep) return true;
    }
  }

  private inStep<Result>(step: (transaction: PgTransaction) => Promise<Result>): Promise<Result> {
    return this.database.inTransaction(countdown(stepLimitMs), step);
  }
}
