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
   * - If the subscription already has a PENDING record, the id of that record is returned.
   * - If the current `is_subscribed` is later than the timestamp, the new record ends in FAILURE
   *   immediately.
   *
   * @throws Failure `not_found` if the guid matches no live subscription; `invalid` for an invalid
   *   timestamp.
   */
  @Handle(requestDeletion)
  async request(request: RequestOf<typeof requestDeletion>, context: CallContext) {
    const { userId, guid, timestamp } = request;
    const sentTime = timestamp === undefined ? undefined : parseTime(timestamp);
    if (timestamp !== undefined && !sentTime) throw new Failure('invalid');
    const requestedAt = sentTime && clampedTime(sentTime.instant, context.arrivedMs).at;
    const write: Write<MatchedSubscription> = {
      ...context.write,
      userId,
      smallAnswer: true,
      changes: ['deletions'],
      reads: [findSubscription, [userId, guid]],
    };
    const { correlationId } = context;
    const origin = { ...traceHeaders(), ...(correlationId !== undefined && { correlationId }) };
    /** Outcomes to count after the commit, with the seconds since the request of each record. */
    const outcomes: [outcome: DeletionOutcome, age: number][] = [];
    const reply = await this.database.write(write, async (transaction) => {
      if (transaction.repeated) return this.answerRepeatedRequest(transaction, request);
      const [subscription] = transaction.found;
      const isLaterThanTombstone =
        subscription &&
        !subscription.isLive &&
        requestedAt !== undefined &&
        requestedAt > subscription.subscribedAt;
      if (!subscription?.isLive && !isLaterThanTombstone) throw new Failure('not_found');
      const { subscriptionId, now } = subscription as MatchedSubscription;
      // The stamp is not used here, because the user's clock can be ahead of the database's time. A
      // later POST with a timestamp would then lose.
      const linkedAt = requestedAt ?? now;
      const sendLink = (deletionId: number | null) =>
        transaction.sendWithCommit(linkDeletion, [userId, subscriptionId, deletionId, linkedAt]);
      // The tombstone gets the later time of this request. Otherwise a POST with a time between the
      // old and the new time would revive the subscription.
      if (isLaterThanTombstone) {
        sendLink(null);
        return { deletionId: null };
      }
      if (subscription.deletionId !== null && !subscription.isOvertaken) {
        sendLink(null);
        return { deletionId: subscription.deletionId };
      }
      // A later write cancelled the pending deletion. Therefore that deletion ends in FAILURE here,
      // and this request gets a new record.
      if (subscription.deletionId !== null) {
        const [endedRecord] = await transaction.query<{ age: number }>(
          ...endStatement(this.database, userId, subscription.deletionId, overtakenOutcome),
        );
        if (endedRecord) outcomes.push([overtakenOutcome, endedRecord.age]);
      }
      const deletionId = await insertDeletion(transaction, userId, subscriptionId, origin);
      if (isSuperseded(subscription, false, requestedAt)) {
        transaction.sendWithCommit(
          ...endStatement(this.database, userId, deletionId, supersededOutcome),
        );
        outcomes.push([supersededOutcome, 0]);
      } else sendLink(deletionId);
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
   * Answers a repeated request whose stored answer was dropped with the id of its record. A new
   * record would be rolled back, as are all changes of a repeated request.
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
      const claimedDeletion = await claimDeletion(transaction, userId, deletionId);
      const step = claimedDeletion ? stepFor(claimedDeletion) : 'leave';
      if (!claimedDeletion || step === 'leave') return undefined;
      const startedAt = performance.now();
      const excessStatements = createExcessStatements(userId, this.quotas);
      const finalStatements: Bound[] = [
        endStatement(this.database, userId, deletionId, step),
        excessStatements.records,
      ];
      if (step.status === 'SUCCESS') {
        const { subscriptionId } = claimedDeletion;
        const cascade = await startCascade(transaction, this.database, userId, subscriptionId);
        finalStatements.unshift(...cascade, excessStatements.tombstones);
      }
      await transaction.commit(...finalStatements);
      countOutcome(step, claimedDeletion.age + (performance.now() - startedAt) / 1_000);
      return step;
    });
  }
}
