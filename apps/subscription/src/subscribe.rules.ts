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

/**
 * The failure of an entry. If another subscription has the URL of the entry, `guid` is the guid of
 * that subscription.
 */
export type EntryFailure = { code: EntryFailureCode; message: string; guid?: string };

/** A valid entry. The client sent `guid`, if any; `derivedGuid` is derived from the URL. */
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
 * - `url`: whether the entry's URL becomes the current one of `row` or an alias; undefined if
 *   the URL stays as it is.
 * - `guid`: the same for the entry's guid.
 * - `duplicate`: another subscription of the same podcast, to merge into `row`.
 * - `conflict`: a subscription of another podcast with the entry's URL as its current URL. The
 *   entry fails.
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

/** Schema of a guid. Built once, because that takes longer than parsing a guid. */
const sentGuidSchema = guidSchema.nullish();

/** Validates one entry (docs/reference/subscriptions.md, "Subscriptions"). */
export function validateEntry({
  feedUrl: sentUrl,
  guid,
  timestamp,
  title,
}: SentEntry): ValidatedEntry {
  const feedUrl = sentUrl.trim();
  const fault = faultInHttpUrl(feedUrl);
  if (fault !== undefined)
    return { feedUrl: sentUrl, fault: { code: 'invalid_url', message: fault } };
  const parsedGuid = sentGuidSchema.safeParse(guid);
  if (!parsedGuid.success)
    return { feedUrl, fault: { code: 'invalid_guid', message: 'The guid is not a valid UUID' } };
  const parsedTime = typeof timestamp === 'string' ? parseTime(timestamp) : undefined;
  if ((timestamp ?? undefined) !== undefined && !parsedTime)
    return {
      feedUrl,
      fault: { code: 'invalid_value', message: 'The timestamp is not a date and time (RFC 3339)' },
    };
  return {
    feedUrl,
    guid: parsedGuid.data ?? undefined,
    derivedGuid: podcastGuid(feedUrl),
    timestamp: parsedTime?.instant,
    title: readTitle(title, feedUrl),
  };
}

/** Returns the stored form of a title; undefined if it is no string, empty, or the feed URL. */
function readTitle(title: unknown, feedUrl: string): string | undefined {
  if (typeof title !== 'string' || title.trim() === feedUrl) return undefined;
  return storedTitle(title) || undefined;
}

/** Applies a batch in order. Each item in `success` has the values after the whole batch. */
export function applyBatch(
  subscriptions: SubscriptionSet,
  entries: readonly ValidatedEntry[],
  budget: MergeBudget,
): SubscribeAnswer {
  const failure: SubscribeAnswer['failure'] = [];
  const acceptedEntries: { feedUrl: string; id: number }[] = [];
  for (const entry of entries) {
    const outcome = entry.fault ?? applyEntry(subscriptions, entry, budget);
    if ('code' in outcome) failure.push({ feed_url: entry.feedUrl, ...outcome });
    else acceptedEntries.push({ feedUrl: entry.feedUrl, id: outcome.id });
  }
  const success = acceptedEntries.map(({ feedUrl, id }) => {
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

/** Applies one entry after the earlier entries of its batch. @returns the row or the failure. */
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
  const guidOwner = guid === undefined ? undefined : subscriptions.byGuid(guid);
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
    pointers: duplicate || (guidOwner && guidOwner !== row && guidOwner.guid === guid) ? 1 : 0,
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
    return applyTitle(subscriptions, entry, created);
  }
  if (duplicate) subscriptions.merge(duplicate, row);
  if (guid !== undefined && roles.guid === 'current') subscriptions.changeGuid(row, guid);
  else if (guid !== undefined) subscriptions.assignGuid(row, guid, true);
  // A revived tombstone whose URL now belongs to another subscription gets the entry's URL.
  if (roles.url === 'current' || row.hasLostUrl) subscriptions.setCurrentUrl(row, feedUrl);
  else if (roles.url === 'alias') subscriptions.assignUrl(row, feedUrl);
  if (duplicate || !subscriptions.isUnchangedBy(row, timestamp))
    subscriptions.subscribe(row, timestamp);
  return applyTitle(subscriptions, entry, row);
}

/** Applies the title of an entry, if it has one, with the entry's time. Returns the row. */
function applyTitle(
  subscriptions: SubscriptionSet,
  { title, timestamp }: ValidEntry,
  row: SubscriptionRow,
): SubscriptionRow {
  if (title !== undefined) subscriptions.setTitle(row, title, timestamp);
  return row;
}

/**
 * Applies an entry that is older than the current state: only its guid, URL and title, and only to
 * a live subscription. @returns the row if it is still subscribed, else a `superseded` failure.
 */
function applySuperseded(
  subscriptions: SubscriptionSet,
  entry: ValidEntry,
  row: SubscriptionRow,
): SubscriptionRow | EntryFailure {
  if (!isLive(row)) return supersededFailure;
  addUnusedAliases(subscriptions, entry, row);
  applyTitle(subscriptions, entry, row);
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

/**
 * Matches an entry without a guid by its URL, else by the derived guid. No live subscription loses
 * a URL.
 */
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
 * matches a subscription, the URL becomes its current URL, even if the URL is a former URL of
 * another subscription.
 */
function matchByGuid(
  subscriptions: SubscriptionSet,
  { feedUrl, derivedGuid }: ValidEntry,
  guid: string,
): EntryMatch {
  const match = subscriptions.byGuid(guid);
  const urlOwner = subscriptions.byUrl(feedUrl);
  const currentUrlOwner = subscriptions.byCurrentUrl(feedUrl);
  // If no subscription has the URL, the guid derived from the URL can still match a subscription.
  const derivedGuidOwner = urlOwner ? undefined : subscriptions.byGuid(derivedGuid);
  if (!match) {
    if (urlOwner) return { row: urlOwner, guid: currentUrlOwner ? 'current' : 'alias' };
    return derivedGuidOwner && derivedGuidOwner.declaredGuids === 0
      ? { row: derivedGuidOwner, guid: 'current', url: 'alias' }
      : {};
  }
  if (!isLive(match)) {
    if (isLive(currentUrlOwner)) return { row: currentUrlOwner, guid: 'alias' };
    if (isLive(derivedGuidOwner)) return { row: derivedGuidOwner, guid: 'alias', url: 'alias' };
  }
  if (urlOwner === match) return { row: match };
  if (isLive(currentUrlOwner) && currentUrlOwner.declaredGuids > 0)
    return { row: match, conflict: currentUrlOwner };
  const other = isLive(currentUrlOwner) ? currentUrlOwner : derivedGuidOwner;
  const isDuplicate = isLive(other) && other !== match && other.declaredGuids === 0;
  return { row: match, url: 'current', duplicate: isDuplicate ? other : undefined };
}
