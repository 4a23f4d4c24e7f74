import { Controller, Inject } from '@nestjs/common';
import {
  countedTime,
  type DeletionJob,
  Failure,
  isSuperseded,
  listDeletions,
  parseTime,
  type ReplyOf,
  type RequestOf,
  readDeletion,
  requestDeletion,
} from '#contracts';
import { Database, countdown, type Transaction, type Write } from '#database';
import { traceHeaders } from '#runtime';
import { type CallContext, Handle } from '#transport';
import { DeletionRelay } from '../queue/deletion.relay.js';
import { type Ending, overtaken, stepFor, superseded } from './deletion.rule.js';
import { beyondQuotas } from './quota.store.js';
import { type DeletionQuotas, QUOTAS } from '../deletion-worker.config.js';
import { countEnding } from '../queue/deletion.metrics.js';
import {
  cascadeOf,
  claimDeletion,
  endOf,
  find,
  findRequestedDeletion,
  insertDeletion,
  mark,
  type Named,
  readPage,
  readStatus,
} from './deletion.store.js';

/** How long one cascade may take, in milliseconds. The user's other writes wait meanwhile. */
export const cascadeLimitMs = 60_000;

/**
 * The lifecycle of deletions. Invariants:
 * - a record goes from PENDING to SUCCESS or FAILURE and stays there (deletion.rule, and the functions of the database
 *   that alone update records);
 * - a subscription has at most one PENDING record (a unique index of the table);
 * - the cascade and SUCCESS are one transaction under the user's clock; whatever interrupts it leaves PENDING;
 * - a user has no more tombstones and ended records than the quotas allow: each deletion removes the oldest ones, and
 *   what it can't remove at once goes with the next deletion;
 * - a job only names a record to work on: a lost or doubled one changes nothing but the time it takes.
 */
@Controller()
export class DeletionService {
  constructor(
    private readonly database: Database,
    private readonly relay: DeletionRelay,
    @Inject(QUOTAS) private readonly quotas: DeletionQuotas,
  ) {}

  /**
   * Accepts a deletion (DELETE /subscriptions/{guid}). Where one is PENDING already, the answer is that one's id; one
   * that is older than what stands ends at once.
   *
   * @throws Failure `not_found` when the guid names no live subscription; `invalid` for a time that is none.
   */
  @Handle(requestDeletion)
  async request(
    request: RequestOf<typeof requestDeletion>,
    context: CallContext,
  ): Promise<ReplyOf<typeof requestDeletion>> {
    const { userId, guid, timestamp } = request;
    const time = timestamp === undefined ? undefined : parseTime(timestamp);
    if (timestamp !== undefined && !time) throw new Failure('invalid');
    const at = time && countedTime(time.instant, context.arrivedMs).at;
    const write: Write<Named> = {
      userId,
      smallAnswer: true,
      changes: ['deletions'],
      requestId: context.requestId,
      fingerprint: context.fingerprint,
      remainingMs: () => context.remainingMs(),
      reads: [find, [userId, guid]],
    };
    const { correlationId } = context;
    const origin = { ...traceHeaders(), ...(correlationId !== undefined && { requestId: correlationId }) };
    const endings: [ending: Ending, age: number][] = [];
    const reply = await this.database.write(write, async (transaction) => {
      if (transaction.repeated) return this.answerAgain(transaction, request);
      const [found] = transaction.found;
      const movesTime = found && !found.live && at !== undefined && at > found.subscribedAt;
      if (!found?.live && !movesTime) throw new Failure('not_found');
      const { subscriptionId } = found as Named;
      // Deleted already, but earlier: what was subscribed in between does not revive it.
      if (movesTime) {
        transaction.last(mark, [userId, subscriptionId, null, at]);
        return { deletionId: null };
      }
      if (found.deletionId !== null && !found.overtaken) {
        transaction.last(mark, [userId, subscriptionId, null, at]);
        return { deletionId: found.deletionId };
      }
      // A later POST won against the pending deletion, which ends here; this request is for what that POST made.
      if (found.deletionId !== null) {
        const [ended] = await transaction.query<{ age: number }>(
          ...endOf(this.database, userId, found.deletionId, overtaken),
        );
        if (ended) endings.push([overtaken, ended.age]);
      }
      const deletionId = await insertDeletion(transaction, userId, subscriptionId, origin);
      if (isSuperseded(found, false, at)) {
        transaction.last(...endOf(this.database, userId, deletionId, superseded));
        endings.push([superseded, 0]);
      } else transaction.last(mark, [userId, subscriptionId, deletionId, at]);
      if (endings.length > 0) {
        const [forget, values] = beyondQuotas(userId, this.quotas).records;
        transaction.last(forget, values);
      }
      return { deletionId };
    });
    for (const ending of endings) countEnding(...ending);
    if (reply.deletionId === null) throw new Failure('not_found');
    this.relay.wake();
    return { deletionId: reply.deletionId };
  }

  /** The answer is not kept any more: finds the deletion that was the answer. One made now would be rolled back. */
  private async answerAgain(transaction: Transaction, { userId, guid }: RequestOf<typeof requestDeletion>) {
    const deletionId = await findRequestedDeletion(transaction, userId, guid);
    if (deletionId === undefined) throw new Failure('not_found');
    return { deletionId };
  }

  /** Reads a record (GET /deletions/{id}). @throws Failure `not_found`. */
  @Handle(readDeletion)
  async read(request: RequestOf<typeof readDeletion>): Promise<ReplyOf<typeof readDeletion>> {
    const { userId, deletionId } = request;
    const status = await readStatus(this.database, userId, deletionId);
    if (!status) throw new Failure('not_found');
    return { deletionId, status };
  }

  /** A page of the user's records, for an export. @throws Failure `unauthorized` for a refused user. */
  @Handle(listDeletions)
  list(request: RequestOf<typeof listDeletions>): Promise<ReplyOf<typeof listDeletions>> {
    return readPage(this.database, request);
  }

  /**
   * Carries out a deletion, or ends it in FAILURE where a later write won.
   *
   * @returns how it ended; undefined where there is no such record or it had ended before.
   */
  async process({ userId, deletionId }: Pick<DeletionJob, 'userId' | 'deletionId'>): Promise<Ending | undefined> {
    return this.database.inTransaction(countdown(cascadeLimitMs), async (transaction) => {
      const claimed = await claimDeletion(transaction, userId, deletionId);
      const step = claimed ? stepFor(claimed) : 'leave';
      if (!claimed || step === 'leave') return undefined;
      const begun = performance.now();
      const forgotten = beyondQuotas(userId, this.quotas);
      const last = [endOf(this.database, userId, deletionId, step), forgotten.records];
      if (step.status === 'SUCCESS')
        last.unshift(cascadeOf(this.database, userId, claimed.subscriptionId), forgotten.tombstones);
      await transaction.commit(...last);
      countEnding(step, claimed.age + (performance.now() - begun) / 1_000);
      return step;
    });
  }
}
