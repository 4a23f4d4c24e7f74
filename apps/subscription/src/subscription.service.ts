import { Inject, Injectable } from '@nestjs/common';
import {
  Failure,
  faultInHttpUrl,
  type getSubscription,
  JsonText,
  type ListRequest,
  parseTime,
  type RequestOf,
  type subscribe,
  type Subscribed,
  type Subscription,
  type Updated,
  type updateSubscription,
} from '#contracts';
import { Database } from '#database';
import type { CallContext } from '#transport';
import { KnownSubscriptions } from './known-subscriptions.js';
import { MergeBudget } from './merge.budget.js';
import { podcastGuid } from './podcast-guid.rule.js';
import { QUOTAS, type SubscriptionQuotas } from './subscription.config.js';
import { applyBatch, judgeEntry } from './subscribe.rule.js';
import { countStates, findByGuid, listChanged, named, saveChanges, toLoaded } from './subscription.store.js';
import { applyPatch } from './update.rule.js';

/**
 * The subscriptions of users. Invariants:
 * - one guid and one URL belong to at most one subscription of a user (primary keys of `guids` and `feed_urls`);
 * - a write of any size is a fixed number of statements, under the user's clock, and one for each merge;
 * - nobody gets more than their quotas allow;
 * - rules are pure functions over what one statement read; one statement writes what they changed, beside those that
 *   merge.
 */
@Injectable()
export class SubscriptionService {
  constructor(
    private readonly database: Database,
    @Inject(QUOTAS) private readonly quotas: SubscriptionQuotas,
  ) {}

  /** Adds a batch (POST /subscriptions). */
  async subscribe(request: RequestOf<typeof subscribe>, context: CallContext): Promise<JsonText<Subscribed>> {
    const { userId } = request;
    const entries = request.entries.map(judgeEntry);
    const accepted = entries.filter((entry) => entry.fault === undefined);
    const reads = named(userId, {
      guids: accepted.flatMap(({ guid, derivedGuid }) => (guid === undefined ? derivedGuid : [guid, derivedGuid])),
      urls: accepted.map((entry) => entry.feedUrl),
      newRows: accepted.length,
      quotas: this.quotas,
    });
    const write = { userId, smallAnswer: false, reads, ...budget(context) };
    return this.database.write(write, async (transaction) => {
      const loaded = toLoaded(transaction.found);
      const apply = (merges: MergeBudget) => {
        const known = new KnownSubscriptions(loaded, transaction.stamp, context.arrivedMs);
        return { verdicts: applyBatch(known, entries, merges), known };
      };
      const merges = new MergeBudget();
      let applied = apply(merges);
      // Rarely: subscriptions turned out to be one, and merging them has bounds.
      if (merges.asked.size > 0)
        applied = apply(new MergeBudget(await countStates(transaction, userId, [...merges.asked])));
      if (accepted.length > 0) await saveChanges(transaction, userId, applied.known.changes(), this.quotas);
      return JsonText.of(applied.verdicts);
    });
  }

  /**
   * Changes one subscription (PATCH /subscriptions/{guid}).
   *
   * @throws Failure `invalid` for a bad URL, nothing to change or beyond a quota; `not_found` for no live subscription.
   */
  async update(request: RequestOf<typeof updateSubscription>, context: CallContext): Promise<JsonText<Updated>> {
    const { userId, guid, ...patch } = request;
    const { newFeedUrl, newGuid, isSubscribed } = patch;
    const timestamp = patch.timestamp === undefined ? undefined : parseTime(patch.timestamp)?.instant;
    if (timestamp === undefined && patch.timestamp !== undefined) throw new Failure('invalid');
    if ([newFeedUrl, newGuid, isSubscribed].every((value) => value === undefined)) throw new Failure('invalid');
    if (newFeedUrl !== undefined && faultInHttpUrl(newFeedUrl) !== undefined) throw new Failure('invalid');
    const urls = newFeedUrl === undefined ? [] : [newFeedUrl];
    const guids = [guid, ...(newGuid === undefined ? [] : [newGuid]), ...urls.map(podcastGuid)];
    const quotas = newGuid === undefined && newFeedUrl === undefined ? undefined : this.quotas;
    const reads = named(userId, { guids, urls, newRows: 0, quotas });
    const write = { userId, smallAnswer: true, reads, ...budget(context) };
    return this.database.write(write, async (transaction) => {
      const known = new KnownSubscriptions(toLoaded(transaction.found), transaction.stamp, context.arrivedMs);
      const row = known.byGuid(guid);
      if (!row || row.deleted !== null) throw new Failure('not_found');
      const answer = applyPatch(known, row, { ...patch, timestamp });
      if (known.quota.isExceeded) throw new Failure('invalid');
      await saveChanges(transaction, userId, known.changes(), this.quotas);
      return JsonText.of(answer);
    });
  }

  /**
   * Reads one subscription by any guid it ever had (GET /subscriptions/{guid}).
   *
   * @throws Failure `not_found`, or `gone` for a tombstone.
   */
  async get(request: RequestOf<typeof getSubscription>): Promise<JsonText<Subscription>> {
    const row = await findByGuid(this.database, request.userId, request.guid);
    if (!row) throw new Failure('not_found');
    if (row.deleted !== null) throw new Failure('gone');
    const { feedUrl, isSubscribed, subscriptionChanged, guidChanged, attached } = row;
    const renamed = guidChanged !== null && guidChanged > attached ? guidChanged : attached;
    return JsonText.of({
      feed_url: feedUrl,
      guid: request.guid,
      is_subscribed: isSubscribed,
      subscription_changed: subscriptionChanged,
      ...(row.guid !== request.guid && { new_guid: row.guid, guid_changed: renamed }),
    });
  }

  /** One page of what changed (GET /subscriptions). */
  list(request: ListRequest) {
    return listChanged(this.database, request);
  }
}

function budget(context: CallContext) {
  const { requestId, fingerprint } = context;
  return { requestId, fingerprint, remainingMs: () => context.remainingMs() };
}
