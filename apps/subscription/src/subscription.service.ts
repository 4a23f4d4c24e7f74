import { Inject, Injectable } from '@nestjs/common';
import {
  Failure,
  faultInHttpUrl,
  type getSubscription,
  type ListRequest,
  type ReplyOf,
  type RequestOf,
  subscribe,
  updateSubscription,
} from '#contracts';
import { Database } from '#database';
import type { CallContext } from '#transport';
import { KnownSubscriptions } from './known-subscriptions.js';
import { applyBatch, judgeEntry } from './subscribe.rule.js';
import { findByGuid, listChanged, loadNamed, saveChanges } from './subscription.store.js';
import { applyPatch } from './update.rule.js';

/**
 * The subscriptions of users. Invariants:
 * - one guid and one URL belong to at most one subscription of a user (primary keys of `guids` and `feed_urls`);
 * - a write of any size is a fixed number of statements, under the user's clock;
 * - rules are pure functions over what one statement read; one statement writes what they changed.
 */
@Injectable()
export class SubscriptionService {
  constructor(@Inject(Database) private readonly database: Database) {}

  /** Adds a batch (POST /subscriptions). */
  async subscribe(request: RequestOf<typeof subscribe>, context: CallContext): Promise<ReplyOf<typeof subscribe>> {
    const { userId } = request;
    const entries = request.entries.map(judgeEntry);
    const accepted = entries.filter((entry) => entry.fault === undefined);
    return this.database.write({ userId, pattern: subscribe.pattern, ...budget(context) }, async (transaction) => {
      const loaded = await loadNamed(transaction, userId, {
        guids: accepted.map((entry) => entry.guid ?? entry.derivedGuid),
        urls: accepted.map((entry) => entry.feedUrl),
        newRows: accepted.length,
      });
      const known = new KnownSubscriptions(loaded, transaction.stamp);
      const verdicts = applyBatch(known, entries, transaction.stamp);
      if (accepted.length > 0) await saveChanges(transaction, userId, known.changes());
      return verdicts;
    });
  }

  /**
   * Changes one subscription (PATCH /subscriptions/{guid}).
   *
   * @throws Failure `invalid` for an unusable URL or nothing to change, `not_found` for no live subscription.
   */
  async update(
    request: RequestOf<typeof updateSubscription>,
    context: CallContext,
  ): Promise<ReplyOf<typeof updateSubscription>> {
    const { userId, guid, ...patch } = request;
    const { newFeedUrl, newGuid } = patch;
    if (Object.values(patch).every((value) => value === undefined)) throw new Failure('invalid');
    if (newFeedUrl !== undefined && faultInHttpUrl(newFeedUrl) !== undefined) throw new Failure('invalid');
    return this.database.write(
      { userId, pattern: updateSubscription.pattern, ...budget(context) },
      async (transaction) => {
        const guids = newGuid === undefined ? [guid] : [guid, newGuid];
        const urls = newFeedUrl === undefined ? [] : [newFeedUrl];
        const loaded = await loadNamed(transaction, userId, { guids, urls, newRows: 0 });
        const known = new KnownSubscriptions(loaded, transaction.stamp);
        const row = known.byGuid(guid);
        if (!row || row.deleted !== null) throw new Failure('not_found');
        const answer = applyPatch(known, row, patch, transaction.stamp);
        await saveChanges(transaction, userId, known.changes());
        return answer;
      },
    );
  }

  /**
   * Reads one subscription by any guid it ever had (GET /subscriptions/{guid}).
   *
   * @throws Failure `not_found`, or `gone` for a tombstone.
   */
  async get(request: RequestOf<typeof getSubscription>): Promise<ReplyOf<typeof getSubscription>> {
    const row = await findByGuid(this.database, request.userId, request.guid);
    if (!row) throw new Failure('not_found');
    if (row.deleted !== null) throw new Failure('gone');
    const { feedUrl, isSubscribed, subscriptionChanged, guidChanged, attached } = row;
    const renamed = guidChanged !== null && guidChanged > attached ? guidChanged : attached;
    return {
      ...{ feedUrl, guid: request.guid, isSubscribed, subscriptionChanged },
      ...(row.guid !== request.guid && { newGuid: row.guid, guidChanged: renamed }),
    };
  }

  /** One page of what changed (GET /subscriptions). */
  list(request: ListRequest) {
    return listChanged(this.database, request);
  }
}

function budget(context: CallContext) {
  return { requestId: context.requestId, remainingMs: () => context.remainingMs() };
}
