import { Controller, Inject } from '@nestjs/common';
import {
  clampedTime,
  type DeletionJob,
  Failure,
  isSuperseded,
  listDeletions,
  parseTime,
  type RequestOf,
  readDeletion,
  requestDeletion,
} from '#contracts';
import { type Bound, Database, countdown, type Transaction, type Write } from '#database';
import { traceHeaders } from '#runtime';
import { type CallContext, Handle } from '#transport';
import { DeletionRelay } from '../queue/deletion-relay.js';
import {
  type DeletionOutcome,
  overtakenOutcome,
  stepFor,
  supersededOutcome,
} from './deletion.rules.js';
import { createExcessStatements } from './excess-rows.repository.js';
import { type DeletionQuotas, QUOTAS } from '../deletion-worker.config.js';
import { countOutcome } from './deletion.metrics.js';
import {
  startCascade,
  claimDeletion,
  endStatement,
  findSubscription,
  findRequestedDeletion,
  insertDeletion,
  linkDeletion,
  type MatchedSubscription,
  readPage,
  readStatus,
} from './deletion.repository.js';

/** Time limit of a cascade in milliseconds. Other writes of the user wait during that time. */
export const cascadeLimitMs = 60_000;

/**
 * Requests, processes and reads deletions. Invariants:
 * - A record changes once, from PENDING to SUCCESS or FAILURE. `stepFor` in deletion.rules.ts and
 *   the functions of the database enforce this; services have no privilege to update records.
 * - A subscription has at most one PENDING record (a unique index of the table).
 * - Cascade and SUCCESS are one transaction under the user's clock. If it is interrupted, the
 *   record stays PENDING.
 * - Quotas limit the tombstones and final records of a user. Each deletion removes the oldest rows
 *   above the quotas, at most 100 of each.
 * - A job contains only the ids of a record. A lost or duplicated job can only delay a deletion.
 */
@Controller()
export class DeletionService {
  constructor(
    private readonly database: Database,
    private readonly relay: DeletionRelay,
    @Inject(QUOTAS) private readonly quotas: DeletionQuotas,
  ) {}

  /**
   * Accepts a deletion (DELETE /subscriptions/{guid}) and returns the id of its record.
   * - If the subscription already has a PENDING record, it returns that one.
   * - If the current `is_subscribed` is later than the timestamp, the new record ends in FAILURE
   *   immediately.
   *
   * @throws Failure `not_found` if the guid matches no live subscription; `invalid` for an invalid
   *   timestamp.
   */
  @Handle(requestDeletion)
  async request(request: RequestOf<typeof requestDeletion>, context: CallContext) {
    const { userId, guid, timestamp } = request;
    const time = timestamp === undefined ? undefined : parseTime(timestamp);
    if (timestamp !== undefined && !time) throw new Failure('invalid');
    const at = time && clampedTime(time.instant, context.arrivedMs).at;
    const write: Write<MatchedSubscription> = {
      ...context.write,
      userId,
      smallAnswer: true,
      changes: ['deletions'],
      reads: [findSubscription, [userId, guid]],
    };
    const { correlationId } = context;
    const origin = {
      ...traceHeaders(),
      ...(correlationId !== undefined && { correlationId }),
    };
    const outcomes: [outcome: DeletionOutcome, age: number][] = [];
    const reply = await this.database.write(write, async (transaction) => {
      if (transaction.repeated) return this.answerRepeatedRequest(transaction, request);
      const [found] = transaction.found;
      const movesTime = found && !found.isLive && at !== undefined && at > found.subscribedAt;
      if (!found?.isLive && !movesTime) throw new Failure('not_found');
      const { subscriptionId, now } = found as MatchedSubscription;
      // Not the stamp: the user's clock can be ahead of the time of the database, and a later POST
      // with a timestamp would lose.
      const linkedAt = at ?? now;
      const link = (deletionId: number | null) =>
        transaction.sendWithCommit(linkDeletion, [userId, subscriptionId, deletionId, linkedAt]);
      // The tombstone gets the later time of this request, so that a POST whose time is between the
      // two times does not revive the subscription.
      if (movesTime) {
        link(null);
        return { deletionId: null };
      }
      if (found.deletionId !== null && !found.isOvertaken) {
        link(null);
        return { deletionId: found.deletionId };
      }
      // A POST subscribed again after the pending deletion, so that deletion ends here in FAILURE.
      // This request gets a new record.
      if (found.deletionId !== null) {
        const [ended] = await transaction.query<{ age: number }>(
          ...endStatement(this.database, userId, found.deletionId, overtakenOutcome),
        );
        if (ended) outcomes.push([overtakenOutcome, ended.age]);
      }
      const deletionId = await insertDeletion(transaction, userId, subscriptionId, origin);
      if (isSuperseded(found, false, at)) {
        transaction.sendWithCommit(
          ...endStatement(this.database, userId, deletionId, supersededOutcome),
        );
        outcomes.push([supersededOutcome, 0]);
      } else link(deletionId);
      const [deleteRecords, values] = createExcessStatements(userId, this.quotas).records;
      if (outcomes.length > 0) transaction.sendWithCommit(deleteRecords, values);
      return { deletionId };
    });
    for (const outcome of outcomes) countOutcome(...outcome);
    if (reply.deletionId === null) throw new Failure('not_found');
    this.relay.pollNow();
    return { deletionId: reply.deletionId };
  }

  /**
   * Returns the record of a repeated request whose stored answer was dropped. A new record would be
   * rolled back, as all changes of a repeated request are.
   */
  private async answerRepeatedRequest(
    transaction: Transaction,
    { userId, guid }: RequestOf<typeof requestDeletion>,
  ) {
    const deletionId = await findRequestedDeletion(transaction, userId, guid);
    if (deletionId === undefined) throw new Failure('not_found');
    return { deletionId };
  }

  /**
   * Reads a record (GET /deletions/{id}).
   *
   * @throws Failure `not_found` without such a record, `unauthorized` for a refused user.
   */
  @Handle(readDeletion)
  async read(request: RequestOf<typeof readDeletion>) {
    const { userId, deletionId } = request;
    const status = await readStatus(this.database, userId, deletionId);
    if (!status) throw new Failure('not_found');
    return { deletionId, status };
  }

  /**
   * Returns a page of the user's records, for an export.
   *
   * @throws Failure `unauthorized` for a refused user.
   */
  @Handle(listDeletions)
  list(request: RequestOf<typeof listDeletions>) {
    return readPage(this.database, request);
  }

  /**
   * Executes a deletion, or ends it in FAILURE if the subscription was added again, merged or
   * deleted since the request.
   *
   * @returns the outcome; undefined if there is no such record or it is already final.
   */
  async process({
    userId,
    deletionId,
  }: Pick<DeletionJob, 'userId' | 'deletionId'>): Promise<DeletionOutcome | undefined> {
    return this.database.inTransaction(countdown(cascadeLimitMs), async (transaction) => {
      const claimed = await claimDeletion(transaction, userId, deletionId);
      const step = claimed ? stepFor(claimed) : 'leave';
      if (!claimed || step === 'leave') return undefined;
      const startedAt = performance.now();
      const excess = createExcessStatements(userId, this.quotas);
      const last: Bound[] = [endStatement(this.database, userId, deletionId, step), excess.records];
      if (step.status === 'SUCCESS') {
        const { subscriptionId } = claimed;
        const cascade = await startCascade(transaction, this.database, userId, subscriptionId);
        last.unshift(...cascade, excess.tombstones);
      }
      await transaction.commit(...last);
      countOutcome(step, claimed.age + (performance.now() - startedAt) / 1_000);
      return step;
    });
  }
}
