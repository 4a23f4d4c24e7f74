import { Controller, Inject } from '@nestjs/common';
import {
  changeFeeds,
  countFeeds,
  ensureFeed,
  type Feed,
  findFeeds,
  listFeeds,
  type ReplyOf,
  type RequestOf,
  normalizedUrl,
  urlKey,
} from '#contracts';
import { Database, selectClock, unlessRefused } from '#database';
import { answerList, answerWrite, sessionTimestamp } from '#gpodder-sync';
import { type CallContext, Handle } from '#transport';
import { applyFeeds, findFeed, type MatchedFeeds, toFeed } from './feeds.rules.js';
import * as store from './feeds.repository.js';
import { SubscriptionSet } from './subscription-set.js';
import { validateEntry } from './subscribe.rules.js';
import { type SubscriptionChanges, isEmpty } from './subscription-changes.js';
import { QUOTAS, type SubscriptionQuotas } from './subscription.config.js';
import type { SubscriptionRow } from './subscription-row.js';
import { type SnapshotRow, saveChanges, toSnapshot } from './subscription.repository.js';

type OptionalRows = readonly (SubscriptionRow | undefined)[];
type PageRequest = NonNullable<RequestOf<typeof listFeeds>['further']>;

/** Handles the messages of the gpodder API about subscriptions, which identify feeds by URL. */
@Controller()
export class FeedUrlService {
  constructor(
    private readonly database: Database,
    @Inject(QUOTAS) private readonly quotas: SubscriptionQuotas,
  ) {}

  /**
   * Returns a page of the URLs that were subscribed (`add`) or unsubscribed (`remove`).
   *
   * @throws Failure `unauthorized` for a refused user.
   */
  @Handle(listFeeds)
  async list(request: RequestOf<typeof listFeeds>, context: CallContext) {
    const { userId, reader, readOnly = false, further } = request;
    if (further)
      return { timestamp: Math.max(1, further.since), ...(await this.readPage(userId, further)) };
    const listRead = {
      userId,
      list: 'subscriptions',
      reader,
      updatesState: reader !== undefined && !readOnly,
    } as const;
    const { timestamp, since, initial, unchanged } = await answerList(
      this.database,
      listRead,
      context,
    );
    if (unchanged) return { timestamp, add: [], remove: [] };
    return { timestamp, ...(await this.readPage(userId, { after: 0, since, first: initial })) };
  }

  /**
   * Subscribes and unsubscribes URLs in one write, which is rolled back if nothing changes. If
   * `whole` is true, `add` replaces the list: all other subscriptions are unsubscribed.
   */
  @Handle(changeFeeds)
  async change(request: RequestOf<typeof changeFeeds>, context: CallContext) {
    const { userId, sessionId, add, titles = [], remove, whole } = request;
    const entries = {
      add: add.map((feedUrl, index) => validateEntry({ feedUrl, title: titles[index] })),
      remove: remove.map(toEntry),
    };
    const write = {
      ...context.write,
      userId,
      smallAnswer: false,
      advances: false,
      changes: ['subscriptions'] as const,
      reads: store.selectMatchesOfEntries(
        userId,
        [...entries.add, ...entries.remove],
        add.length,
        this.quotas,
      ),
    };
    const { matched, timestamp } = await this.database.write(write, async (transaction) => {
      const { query, found, stamp: previousStamp } = transaction;
      const snapshot = toSnapshot(found);
      const applyEntries = (
        stamp: string,
      ): { matched: MatchedFeeds; changes: SubscriptionChanges } => {
        const subscriptions = new SubscriptionSet(snapshot, stamp, context.arrivedMs);
        return { matched: applyFeeds(subscriptions, entries), changes: subscriptions.changes() };
      };
      const trialRun = applyEntries(previousStamp);
      const hasOthers =
        whole &&
        !transaction.repeated &&
        (await hasOtherSubscribed(query, userId, trialRun.matched));
      if (transaction.repeated || (isEmpty(trialRun.changes) && !hasOthers))
        return { matched: trialRun.matched };
      const stamp = await transaction.advance();
      const finalRun = applyEntries(stamp);
      if (!isEmpty(finalRun.changes))
        await saveChanges({ ...transaction, stamp }, userId, finalRun.changes, this.quotas);
      if (hasOthers)
        transaction.sendWithCommit(store.unsubscribeOthers, [
          userId,
          listAddedIds(finalRun.matched),
          stamp,
          snapshot.now,
        ]);
      // The client can have stored a removed subscription under another of its URLs. In this case
      // the client's next download lists all URLs of the subscription as removed.
      const repeatsUpload = await hasOtherUrls(query, userId, finalRun.matched, remove);
      return {
        matched: finalRun.matched,
        timestamp: await answerWrite(transaction, request, previousStamp, repeatsUpload),
      };
    });
    const answeredTimestamp =
      timestamp ?? (await sessionTimestamp(this.database, userId, 'subscriptions', sessionId));
    return { timestamp: answeredTimestamp, ...(await this.toResult(userId, matched)) };
  }

  /** Returns the feeds of the reply to {@link changeFeeds}, and the reasons of rejections. */
  private async toResult(userId: string, { add, remove, rejections }: MatchedFeeds) {
    const convertRows = await this.toFeeds(userId, [...add, ...remove]);
    return {
      add: convertRows(add),
      remove: convertRows(remove),
      ...(rejections.length > 0 && { rejections }),
    };
  }

  /**
   * Returns the live subscription of each URL; null for a URL without one.
   *
   * @throws Failure `unauthorized` for a refused user.
   */
  @Handle(findFeeds)
  async find({ userId, feedUrls }: RequestOf<typeof findFeeds>) {
    const query: store.Query = (...bound) => this.database.read(...bound);
    const entries = feedUrls.map(toEntry);
    const [statement, values] = store.selectMatchesOfEntries(userId, entries, 0, this.quotas);
    const [[clockRow], found] = await Promise.all([
      query<{ refused: number | null }>(selectClock, [userId]),
      query<SnapshotRow>(statement, values),
    ]);
    unlessRefused(clockRow);
    const subscriptions = new SubscriptionSet(toSnapshot(found), '', 0);
    const rows = entries.map((entry) => findFeed(subscriptions, entry));
    return { feeds: (await this.toFeeds(userId, rows))(rows) };
  }

  /**
   * Finds the subscription of a URL, or creates an unsubscribed subscription. `feed` is null for an
   * invalid URL and if a quota is reached.
   *
   * @throws Failure `unauthorized` for a refused user.
   */
  @Handle(ensureFeed)
  async ensure(request: RequestOf<typeof ensureFeed>, context: CallContext) {
    const { userId } = request;
    const entry = validateEntry(request);
    if (entry.fault) return { feed: null };
    const readFeed = async () =>
      (await this.find({ userId, feedUrls: [entry.feedUrl] })).feeds[0] ?? null;
    const existingFeed = await readFeed();
    if (existingFeed) return { feed: existingFeed };
    const { QUOTA_LIVE_SUBSCRIPTIONS: liveQuota, QUOTA_SUBSCRIPTION_NAMES: nameQuota } =
      this.quotas;
    const changes = ['subscriptions'] as const;
    const write = { ...context.write, userId, smallAnswer: false, changes };
    await this.database.write(write, async (transaction) => {
      const [creation] = await transaction.query<{ made: number }>(store.ensureSubscriptions, [
        userId,
        [entry.feedUrl],
        [entry.derivedGuid],
        [Buffer.from(urlKey(entry.feedUrl), 'hex')],
        transaction.stamp,
        liveQuota,
        nameQuota,
      ]);
      if (!creation?.made) transaction.discard();
    });
    return { feed: await readFeed() };
  }

  /** Returns the number of subscribed feeds. @throws Failure `unauthorized` for a refused user. */
  @Handle(countFeeds)
  async count({ userId }: RequestOf<typeof countFeeds>) {
    type CountRow = { refused: number | null; subscribed: number };
    const [countRow] = await this.database.read<CountRow>(store.countSubscribed, [userId]);
    return { subscribed: unlessRefused(countRow).subscribed };
  }

  /** Reads the first guids of `allRows`. @returns a function that converts these rows to feeds. */
  private async toFeeds(
    userId: string,
    allRows: OptionalRows,
  ): Promise<(rows: OptionalRows) => (Feed | null)[]> {
    const firstGuids = await store.readFirstGuids(
      (...bound) => this.database.read(...bound),
      userId,
      allRows,
    );
    return (rows) => rows.map((row) => toFeed(row, firstGuids));
  }

  /** Reads a page of the list of feeds. `next` is absent on the last page. */
  private async readPage(
    userId: string,
    { after, since, first, key = '' }: PageRequest,
  ): Promise<Omit<ReplyOf<typeof listFeeds>, 'timestamp'>> {
    type Row = {
      refused: number | null;
      id: number | null;
      isSubscribed: boolean;
      title: string | null;
      url: string | null;
      key: string | null;
    };
    // A client without data needs no removals. With `infinity` the statement selects none.
    const flippedAfter = since === 0 ? 'infinity' : new Date(since * 1_000).toISOString();
    const statement = first || since === 0 ? store.selectSubscribedFeeds : store.selectFlippedFeeds;
    const rows = await this.database.read<Row>(statement, [
      userId,
      after,
      store.maxUrlsPerPage + 1,
      flippedAfter,
      Buffer.from(key, 'hex'),
    ]);
    unlessRefused(rows[0]);
    const pageRows = rows.slice(0, store.maxUrlsPerPage);
    const lastRow = rows.length > pageRows.length ? pageRows.at(-1) : undefined;
    const selectFeeds = (isSubscribed: boolean) =>
      pageRows.flatMap(({ url, title, ...row }) =>
        url !== null && row.isSubscribed === isSubscribed ? [{ url, title }] : [],
      );
    const add = selectFeeds(true);
    // Both forms are listed, because some clients store only the normalized form.
    const remove = selectFeeds(false).flatMap(({ url }) => [url, normalizedUrl(url)]);
    return {
      add: add.map(({ url }) => url),
      ...(add.some(({ title }) => title !== null) && { titles: add.map(({ title }) => title) }),
      remove: [...new Set(remove)],
      ...(lastRow?.id != null && {
        next: { after: lastRow.id, since, first, ...(lastRow.key && { key: lastRow.key }) },
      }),
    };
  }
}

const toEntry = (feedUrl: string) => validateEntry({ feedUrl });

/** Returns true if the removed subscriptions have URLs other than `urls`. */
async function hasOtherUrls(
  query: store.Query,
  userId: string,
  matched: MatchedFeeds,
  urls: readonly string[],
): Promise<boolean> {
  const removedIds = [...new Set(matched.remove.flatMap((row) => (row ? [row.id] : [])))];
  if (removedIds.length === 0) return false;
  const excludedKeys = urls.map((url) => Buffer.from(urlKey(url), 'hex'));
  return (await query(store.selectOtherUrl, [userId, removedIds, excludedKeys])).length > 0;
}

/** Returns the ids of the subscriptions in `add`. A `whole` upload unsubscribes all others. */
const listAddedIds = ({ add }: MatchedFeeds) => add.flatMap((row) => (row ? [row.id] : []));

/** Returns true if the user has subscribed subscriptions other than those in `add`. */
async function hasOtherSubscribed(
  query: store.Query,
  userId: string,
  matched: MatchedFeeds,
): Promise<boolean> {
  return (await query(store.selectOtherSubscribed, [userId, listAddedIds(matched)])).length > 0;
}
