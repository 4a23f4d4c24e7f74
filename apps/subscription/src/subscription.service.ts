import { Controller, Inject } from '@nestjs/common';
import {
  applyFeed,
  Failure,
  faultInHttpUrl,
  getSubscription,
  listFormerNames,
  JsonText,
  type ListRequest,
  listSubscriptions,
  parseTime,
  type RequestOf,
  subscribe,
  type Subscription,
  updateSubscription,
  podcastGuid,
} from '#contracts';
import { Database, type Transaction } from '#database';
import { type CallContext, Handle } from '#transport';
import { listFormer } from './former-aliases.repository.js';
import { applyFeedChange } from './publisher-change.rules.js';
import { SubscriptionSet } from './subscription-set.js';
import { MergeBudget } from './merge-budget.js';
import { QUOTAS, type SubscriptionQuotas } from './subscription.config.js';
import { applyBatch, validateEntry } from './subscribe.rules.js';
import {
  countStates,
  type SnapshotRow,
  findByGuid,
  saveChanges,
  selectMatches,
  toSnapshot,
} from './subscription.repository.js';
import { listChanged } from './subscription-list.repository.js';
import { applyPatch } from './update.rules.js';

/**
 * Handles the messages about subscriptions. Invariants:
 * - A guid or URL belongs to at most one subscription of a user (primary keys of `guids` and
 *   `feed_urls`).
 * - A write runs a fixed number of statements under the lock of the user's clock, plus one per
 *   round of merges (`groupIntoRounds` in subscription.repository.ts).
 * - No write adds rows above a quota of the user.
 * - Rules are pure functions over the result of one statement.
 */
@Controller()
export class SubscriptionService {
  constructor(
    private readonly database: Database,
    @Inject(QUOTAS) private readonly quotas: SubscriptionQuotas,
  ) {}

  /** Subscribes to a batch of feeds (POST /subscriptions). */
  @Handle(subscribe)
  async subscribe(request: RequestOf<typeof subscribe>, context: CallContext) {
    const { userId, body } = request;
    const entries = body.subscriptions.map(({ feed_url: feedUrl, ...fields }) =>
      validateEntry({ feedUrl, ...fields }),
    );
    const validEntries = entries.filter((entry) => entry.fault === undefined);
    const reads = selectMatches(userId, {
      guids: validEntries.flatMap(({ guid, derivedGuid }) =>
        guid === undefined ? derivedGuid : [guid, derivedGuid],
      ),
      urls: validEntries.map((entry) => entry.feedUrl),
      newRows: validEntries.length,
      quotas: this.quotas,
    });
    const write = { userId, smallAnswer: false, changes: changedKinds, reads, ...context.write };
    return this.database.write(write, async (transaction) => {
      const { result, subscriptions } = await applyWithMerges(
        transaction,
        userId,
        context,
        (set, budget) => applyBatch(set, entries, budget),
      );
      await saveChanges(transaction, userId, subscriptions.changes(), this.quotas);
      return JsonText.of(result);
    });
  }

  /**
   * Changes one subscription (PATCH /subscriptions/{guid}).
   *
   * @throws Failure `invalid` for an invalid URL or timestamp, a request without a change or an
   * exceeded quota; `not_found` if the guid matches no live subscription.
   */
  @Handle(updateSubscription)
  async update(request: RequestOf<typeof updateSubscription>, context: CallContext) {
    const { userId, guid, ...patch } = request;
    const { newFeedUrl, newGuid, isSubscribed, title } = patch;
    const timestamp =
      patch.timestamp === undefined ? undefined : parseTime(patch.timestamp)?.instant;
    if (timestamp === undefined && patch.timestamp !== undefined) throw new Failure('invalid');
    if ([newFeedUrl, newGuid, isSubscribed, title].every((value) => value === undefined))
      throw new Failure('invalid');
    if (newFeedUrl !== undefined && faultInHttpUrl(newFeedUrl) !== undefined)
      throw new Failure('invalid');
    const urls = newFeedUrl === undefined ? [] : [newFeedUrl];
    const guids = [guid, ...(newGuid === undefined ? [] : [newGuid]), ...urls.map(podcastGuid)];
    const reads = selectMatches(userId, { guids, urls, newRows: 0, quotas: this.quotas });
    const write = { userId, smallAnswer: false, changes: changedKinds, reads, ...context.write };
    return this.database.write(write, async (transaction) => {
      const subscriptions = new SubscriptionSet(
        toSnapshot(transaction.found),
        transaction.stamp,
        context.arrivedMs,
      );
      const row = subscriptions.byGuid(guid);
      if (!row || row.deleted !== null) throw new Failure('not_found');
      const answer = applyPatch(subscriptions, row, { ...patch, timestamp });
      if (subscriptions.quota.isExceeded) throw new Failure('invalid');
      await saveChanges(transaction, userId, subscriptions.changes(), this.quotas);
      return JsonText.of(answer);
    });
  }

  /**
   * Applies a new URL or a declared guid that the feed service found (`applyFeedChange`). If
   * nothing changes, the write is rolled back.
   */
  @Handle(applyFeed)
  async applyFeed({ userId, ...change }: RequestOf<typeof applyFeed>, context: CallContext) {
    const urls = [change.fromUrl, ...(change.toUrl === undefined ? [] : [change.toUrl])];
    const guids = [...(change.guid === undefined ? [] : [change.guid]), ...urls.map(podcastGuid)];
    const reads = selectMatches(userId, { guids, urls, newRows: 0, quotas: this.quotas });
    const write = { userId, smallAnswer: true, changes: changedKinds, reads, ...context.write };
    return this.database.write(write, async (transaction) => {
      const { result: outcome, subscriptions } = await applyWithMerges(
        transaction,
        userId,
        context,
        (set, budget) => applyFeedChange(set, change, budget),
      );
      if (outcome === 'applied')
        await saveChanges(transaction, userId, subscriptions.changes(), this.quotas);
      else transaction.discard();
      return { outcome };
    });
  }

  /**
   * Reads one subscription by its current or a former guid (GET /subscriptions/{guid}).
   *
   * @throws Failure `not_found`, `gone` for a tombstone, `unauthorized` for a refused user.
   */
  @Handle(getSubscription)
  async get(request: RequestOf<typeof getSubscription>): Promise<JsonText<Subscription>> {
    const row = await findByGuid(this.database, request.userId, request.guid);
    if (!row) throw new Failure('not_found');
    if (row.deleted !== null) throw new Failure('gone');
    const { feedUrl, isSubscribed, subscriptionChanged, guidChanged, attached, title } = row;
    const guidReplacedAt = guidChanged !== null && guidChanged > attached ? guidChanged : attached;
    return JsonText.of({
      feed_url: feedUrl,
      guid: request.guid,
      is_subscribed: isSubscribed,
      subscription_changed: subscriptionChanged,
      ...(row.guid !== request.guid && { new_guid: row.guid, guid_changed: guidReplacedAt }),
      ...(title !== null && { title }),
    });
  }

  /** Lists former feed URLs or former guids, for the export of the account app. */
  @Handle(listFormerNames)
  listFormerNames(request: RequestOf<typeof listFormerNames>) {
    return listFormer(this.database, request);
  }

  /** Returns one page of the subscriptions that changed after `since` (GET /subscriptions). */
  @Handle(listSubscriptions)
  list(request: ListRequest) {
    return listChanged(this.database, request);
  }
}

/** The kinds of every write's event. `saveChanges` adds `episodes` if it merges subscriptions. */
const changedKinds = ['subscriptions'] as const;

/**
 * Applies rules. If they merge subscriptions, counts the episode states of these and applies the
 * rules again from the start, with the limit of states ({@link MergeBudget}).
 */
async function applyWithMerges<Result>(
  transaction: Transaction<SnapshotRow>,
  userId: string,
  context: CallContext,
  apply: (subscriptions: SubscriptionSet, budget: MergeBudget) => Result,
): Promise<{ result: Result; subscriptions: SubscriptionSet }> {
  const snapshot = toSnapshot(transaction.found);
  const applyWithBudget = (budget: MergeBudget) => {
    const subscriptions = new SubscriptionSet(snapshot, transaction.stamp, context.arrivedMs);
    return { result: apply(subscriptions, budget), subscriptions };
  };
  const firstBudget = new MergeBudget();
  const firstRun = applyWithBudget(firstBudget);
  if (firstBudget.uncounted.size === 0) return firstRun;
  const counts = await countStates(transaction, userId, [...firstBudget.uncounted]);
  return applyWithBudget(new MergeBudget(counts));
}
