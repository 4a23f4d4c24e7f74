import {
  type EntryFailureCode,
  faultInHttpUrl,
  guidSchema,
  storedTitle,
  parseTime,
  type SubscribeAnswer,
  podcastGuid,
} from '#contracts';
import type { SubscriptionSet } from './subscription-set.js';
import { isLive, isStillSubscribed, type SubscriptionRow } from './subscription-row.js';
import type { MergeBudget } from './merge-budget.js';

/** The failure of an entry. `guid` is that of the other subscription that has the URL. */
export type EntryFailure = { code: EntryFailureCode; message: string; guid?: string };

/** A valid entry. `guid` was sent by the client, `derivedGuid` is derived from the URL. */
export interface ValidEntry {
  feedUrl: string;
  guid?: string;
  derivedGuid: string;
  /** Time at which the listener subscribed, by the client's clock; UTC with microseconds. */
  timestamp?: string;
  /** The listener's title, never empty; undefined if none was sent. */
  title?: string;
  fault?: undefined;
}

/** A valid entry, or the sent URL and the failure (`fault`) of an invalid one. */
export type ValidatedEntry = ValidEntry | { feedUrl: string; fault: EntryFailure };

/**
 * The match of an entry (docs/reference/subscriptions.md, "Identifiers").
 * - `row`: the matched subscription; undefined if the entry creates one.
 * - `url`: whether the entry's URL becomes the current one of `row` or an alias; undefined if it
 *   stays as it is.
 * - `guid`: the same for the entry's guid.
 * - `duplicate`: another subscription of the same podcast, to merge into `row`.
 * - `conflict`: a subscription of another podcast whose current URL is the entry's: it fails.
 */
export interface EntryMatch {
  row?: SubscriptionRow;
  url?: 'current' | 'alias';
  guid?: 'current' | 'alias';
  duplicate?: SubscriptionRow;
  conflict?: SubscriptionRow;
}

const limitReachedFailure: EntryFailure = {
  code: 'limit_reached',
  message: 'The quota of subscriptions, or of their guids and URLs, is reached',
};
const mergeTooLargeFailure: EntryFailure = {
  code: 'limit_reached',
  message:
    'Another subscription is the same podcast, but too large to merge here: ' +
    'send PATCH with new_feed_url',
};
const supersededFailure: EntryFailure = {
  code: 'superseded',
  message: 'The subscription was unsubscribed or deleted after the timestamp',
};

/** An unvalidated entry of a request. A field that is `null` counts as not sent. */
export interface SentEntry {
  feedUrl: string;
  guid?: unknown;
  timestamp?: unknown;
  title?: unknown;
}

/** Built once, because building a zod schema takes longer than parsing a guid. */
const sentGuid = guidSchema.nullish();

/** Validates one entry (docs/reference/subscriptions.md, "Subscriptions"). */
export function validateEntry({
  feedUrl: sent,
  guid,
  timestamp,
  title,
}: SentEntry): ValidatedEntry {
  const feedUrl = sent.trim();
  const fault = faultInHttpUrl(feedUrl);
  if (fault !== undefined) return { feedUrl: sent, fault: { code: 'invalid_url', message: fault } };
  const parsed = sentGuid.safeParse(guid);
  if (!parsed.success)
    return { feedUrl, fault: { code: 'invalid_guid', message: 'The guid is not a valid UUID' } };
  const time = typeof timestamp === 'string' ? parseTime(timestamp) : undefined;
  if ((timestamp ?? undefined) !== undefined && !time)
    return {
      feedUrl,
      fault: { code: 'invalid_value', message: 'The timestamp is not a date and time (RFC 3339)' },
    };
  return {
    feedUrl,
    guid: parsed.data ?? undefined,
    derivedGuid: podcastGuid(feedUrl),
    timestamp: time?.instant,
    title: readTitle(title, feedUrl),
  };
}

/** Returns the stored form of a title; undefined if it is no text, empty or the feed URL. */
function readTitle(sent: unknown, feedUrl: string): string | undefined {
  if (typeof sent !== 'string' || sent.trim() === feedUrl) return undefined;
  return storedTitle(sent) || undefined;
}

/** Applies a batch in order. Each item in `success` has the values after the whole batch. */
export function applyBatch(
  subscriptions: SubscriptionSet,
  entries: readonly ValidatedEntry[],
  budget: MergeBudget,
): SubscribeAnswer {
  const failure: SubscribeAnswer['failure'] = [];
  const accepted: { feedUrl: string; id: number }[] = [];
  for (const entry of entries) {
    const outcome = entry.fault ?? applyEntry(subscriptions, entry, budget);
    if ('code' in outcome) failure.push({ feed_url: entry.feedUrl, ...outcome });
    else accepted.push({ feedUrl: entry.feedUrl, id: outcome.id });
  }
  const success = accepted.map(({ feedUrl, id }) => {
    const { guid, subscriptionChanged } = subscriptions.byId(id);
    return {
      feed_url: feedUrl,
      guid,
      is_subscribed: true as const,
      subscription_changed: subscriptionChanged,
    };
  });
  return { success, failure };
}

/** Applies one entry after the earlier entries of its batch. @returns its row or its failure. */
export function applyEntry(
  subscriptions: SubscriptionSet,
  entry: ValidEntry,
  budget: MergeBudget,
): SubscriptionRow | EntryFailure {
  const { feedUrl, guid, derivedGuid, timestamp } = entry;
  const { row, duplicate, conflict, ...roles } = matchEntry(subscriptions, entry);
  if (row && subscriptions.isSuperseded(row, true, timestamp))
    return applySuperseded(subscriptions, entry, row);
  // A merge keeps the later time, so a later unsubscribe or deletion of the duplicate also wins
  // over this entry.
  if (
    row &&
    duplicate &&
    !isStillSubscribed(duplicate) &&
    subscriptions.isSuperseded(duplicate, true, timestamp)
  )
    return applySuperseded(subscriptions, entry, row);
  if (conflict)
    return {
      code: 'feed_url_taken',
      message: 'Another subscription has this feed_url',
      guid: conflict.guid,
    };
  const owner = guid === undefined ? undefined : subscriptions.byGuid(guid);
  const newGuid = guid ?? (row ? undefined : derivedGuid);
  const isAllowed = subscriptions.quota.allows({
    live: (isLive(row) ? 0 : 1) - (duplicate ? 1 : 0),
    guids: newGuid === undefined || subscriptions.byGuid(newGuid) ? 0 : 1,
    urls: (row && !roles.url) || subscriptions.byUrl(feedUrl) ? 0 : 1,
    guidChanges:
      row &&
      guid !== undefined &&
      roles.guid === 'current' &&
      subscriptions.addsFormerGuid(row, guid)
        ? 1
        : 0,
    pointers: duplicate || (owner && owner !== row && owner.guid === guid) ? 1 : 0,
  });
  if (!isAllowed) return limitReachedFailure;
  if (duplicate && row && !budget.countMerge(duplicate, row)) return mergeTooLargeFailure;
  if (!row) {
    const created = subscriptions.create(
      feedUrl,
      guid ?? derivedGuid,
      guid !== undefined,
      timestamp,
    );
    return withTitle(subscriptions, entry, created);
  }
  if (duplicate) subscriptions.merge(duplicate, row);
  if (guid !== undefined && roles.guid === 'current') subscriptions.changeGuid(row, guid);
  else if (guid !== undefined) subscriptions.assignGuid(row, guid, true);
  // A revived tombstone whose URL now belongs to another subscription gets the entry's URL.
  if (roles.url === 'current' || row.hasLostUrl) subscriptions.setCurrentUrl(row, feedUrl);
  else if (roles.url === 'alias') subscriptions.assignUrl(row, feedUrl);
  if (duplicate || !subscriptions.isUnchangedBy(row, timestamp))
    subscriptions.subscribe(row, timestamp);
  return withTitle(subscriptions, entry, row);
}

/** Applies the title of an entry, if it has one, with the entry's time. Returns the row. */
function withTitle(
  subscriptions: SubscriptionSet,
  { title, timestamp }: ValidEntry,
  row: SubscriptionRow,
): SubscriptionRow {
  if (title !== undefined) subscriptions.setTitle(row, title, timestamp);
  return row;
}

/**
 * Applies an entry that is older than the current state: only its guid, URL and title, and only to
 * a live subscription. @returns `superseded` unless the subscription is still subscribed.
 */
function applySuperseded(
  subscriptions: SubscriptionSet,
  entry: ValidEntry,
  row: SubscriptionRow,
): SubscriptionRow | EntryFailure {
  if (!isLive(row)) return supersededFailure;
  addUnusedAliases(subscriptions, entry, row);
  withTitle(subscriptions, entry, row);
  return isStillSubscribed(row) ? row : supersededFailure;
}

/**
 * Adds the guid and URL of an entry as aliases, each unless a live subscription has it or its quota
 * is reached.
 */
function addUnusedAliases(
  subscriptions: SubscriptionSet,
  { feedUrl, guid }: ValidEntry,
  row: SubscriptionRow,
): void {
  const isUnused = (owner: SubscriptionRow | undefined) => !isLive(owner);
  if (
    guid !== undefined &&
    isUnused(subscriptions.byGuid(guid)) &&
    subscriptions.quota.allows({ guids: 1, pointers: 1 })
  )
    subscriptions.assignGuid(row, guid, true);
  if (isUnused(subscriptions.byUrl(feedUrl)) && subscriptions.quota.allows({ urls: 1 }))
    subscriptions.assignUrl(row, feedUrl);
}

/** Returns the match of an entry among the subscriptions that were read. */
export function matchEntry(subscriptions: SubscriptionSet, entry: ValidEntry): EntryMatch {
  return entry.guid === undefined
    ? matchByUrl(subscriptions, entry)
    : matchByGuid(subscriptions, entry, entry.guid);
}

/** Matches an entry without a guid by its URL, else by the derived guid. It moves no URL. */
function matchByUrl(
  subscriptions: SubscriptionSet,
  { feedUrl, derivedGuid }: ValidEntry,
): EntryMatch {
  const byUrl: EntryMatch = { row: subscriptions.byUrl(feedUrl) };
  const byGuid: EntryMatch = { row: subscriptions.byGuid(derivedGuid), url: 'alias' };
  // A live subscription takes precedence over a tombstone.
  return (
    [byUrl, byGuid].find(({ row }) => isLive(row)) ?? [byUrl, byGuid].find(({ row }) => row) ?? {}
  );
}

/**
 * Matches an entry with a guid by that guid, else by its URL, else by the derived guid. If the guid
 * matches, its subscription gets the URL as current one, even from a former URL of another
 * subscription.
 */
function matchByGuid(
  subscriptions: SubscriptionSet,
  { feedUrl, derivedGuid }: ValidEntry,
  guid: string,
): EntryMatch {
  const match = subscriptions.byGuid(guid);
  const owner = subscriptions.byUrl(feedUrl);
  const current = subscriptions.byCurrentUrl(feedUrl);
  // If no subscription has the URL, the guid derived from it can still match one.
  const byDerived = owner ? undefined : subscriptions.byGuid(derivedGuid);
  if (!match) {
    if (owner) return { row: owner, guid: current ? 'current' : 'alias' };
    return byDerived && byDerived.declaredGuids === 0
      ? { row: byDerived, guid: 'current', url: 'alias' }
      : {};
  }
  if (!isLive(match)) {
    if (isLive(current)) return { row: current, guid: 'alias' };
    if (isLive(byDerived)) return { row: byDerived, guid: 'alias', url: 'alias' };
  }
  if (owner === match) return { row: match };
  if (isLive(current) && current.declaredGuids > 0) return { row: match, conflict: current };
  const other = isLive(current) ? current : byDerived;
  const isDuplicate = isLive(other) && other !== match && other.declaredGuids === 0;
  return { row: match, url: 'current', duplicate: isDuplicate ? other : undefined };
}
