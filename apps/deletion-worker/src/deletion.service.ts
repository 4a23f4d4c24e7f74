import { Inject, Injectable } from '@nestjs/common';
import {
  type DeletionJob,
  Failure,
  type ReplyOf,
  type RequestOf,
  type readDeletion,
  requestDeletion,
} from '#contracts';
import { Database, timeLimit } from '#database';
import type { CallContext } from '#transport';
import { DeletionRelay } from './deletion.relay.js';
import {
  claimDeletion,
  commitCascade,
  commitFailure,
  endInFailure,
  findSubscription,
  insertDeletion,
  readStatus,
} from './deletion.store.js';

/** How long one cascade may take, in milliseconds; it holds the user's clock meanwhile. */
const cascadeLimitMs = 60_000;

const addedAgain = 'the subscription was added again, merged or deleted since the request';

/**
 * The lifecycle of deletions. Invariants:
 * - a record goes from PENDING to SUCCESS or FAILURE and stays there (a trigger of the table);
 * - a subscription has at most one PENDING record (a unique index of the table);
 * - the cascade and SUCCESS are one transaction under the user's clock; whatever interrupts it leaves PENDING;
 * - a job is only a hint to look at a record: lost or doubled ones change nothing but the time it takes.
 */
@Injectable()
export class DeletionService {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(DeletionRelay) private readonly relay: DeletionRelay,
  ) {}

  /**
   * Records a request (DELETE /subscriptions/{guid}); one that is pending already is answered with its id.
   *
   * @throws Failure `not_found` for no live subscription.
   */
  async request(
    request: RequestOf<typeof requestDeletion>,
    context: CallContext,
  ): Promise<ReplyOf<typeof requestDeletion>> {
    const { userId, guid } = request;
    const write = {
      userId,
      pattern: requestDeletion.pattern,
      requestId: context.requestId,
      remainingMs: () => context.remainingMs(),
    };
    const reply = await this.database.write(write, async (transaction) => {
      const found = await findSubscription(transaction, userId, guid);
      if (!found) throw new Failure('not_found');
      if (found.deletionId !== null && !found.overtaken) return { deletionId: found.deletionId };
      // The one that is pending lost to a later POST; this request is for what that POST made.
      if (found.deletionId !== null) await endInFailure(transaction, userId, found.deletionId, addedAgain);
      return { deletionId: await insertDeletion(transaction, userId, found.subscriptionId) };
    });
    this.relay.wake();
    return reply;
  }

  /** Reads a record (GET /deletions/{id}). @throws Failure `not_found`. */
  async read(request: RequestOf<typeof readDeletion>): Promise<ReplyOf<typeof readDeletion>> {
    const { userId, deletionId } = request;
    const status = await readStatus(this.database, userId, deletionId);
    if (!status) throw new Failure('not_found');
    return { deletionId, status };
  }

  /** Carries out a deletion, or ends it where a later write won. Does nothing for one that has ended. */
  async process({ userId, deletionId }: DeletionJob): Promise<void> {
    await this.database.inTransaction(timeLimit(cascadeLimitMs), async (session) => {
      const claimed = await claimDeletion(session, userId, deletionId);
      if (claimed?.status !== 'PENDING') return;
      if (claimed.stands) await commitCascade(session, userId, deletionId, claimed.subscriptionId);
      else await commitFailure(session, userId, deletionId, addedAgain);
    });
  }
}
