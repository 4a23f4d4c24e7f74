import {
  type EntryFailureCode,
  faultInHttpUrl,
  guidSchema,
  keptTitle,
  parseTime,
  type Subscribed,
  podcastGuid,
} from '#contracts';
import type { KnownSubscriptions } from './known-subscriptions.js';
import { isLive, isStillSubscribed, type SubscriptionRow } from './subscription.row.js';
import type { MergeBudget } from './merge.budget.js';

export type EntryFailure = { code: EntryFailureCode; message: string; guid?: string };

/** A valid entry; `guid` is the client's, `derivedGuid` is derived from the URL. */
export interface UsableEntry {
  feedUrl: string;
  guid?: string;
  derivedGuid: string;
  /** Time at which the listener subscribed, by the client's clock; UTC with microseconds. */
  timestamp?: string;
  /** The listener's title, never empty. */
  title?: string;
  fault?: undefined;
}

/** A valid entry, or an entry with its fault. */
export type JudgedEntry = UsableEntry | { feedUrl: string; fault: EntryFailure };

/**
 * The match of an entry (docs/reference/subscriptions.md, "Identifiers"): the matched subscription,
 * if any, and whether its URL or guid becomes the current one or an alias. `same` is another
 * subscription of the same podcast. `taken` has the URL and is another podcast.
 */
export interface EntryMatch {
  row?: SubscriptionRow;
  url?: 'current' | 'alias';
  guid?: 'current' | 'alias';
  same?: SubscriptionRow;
  taken?: SubscriptionRow;
}

const limitReached: EntryFailure = {
  code: 'limit_reached',
  message: 'The quota of subscriptions, or of their guids and URLs, is reached',
};
const mergeTooLarge: EntryFailure = {
  code: 'limit_reached',
  message:
    'Another subscription is the same podcast, but too large to merge here: ' +
    'send PATCH with new_feed_url',
};
const superseded: EntryFailure = {
  code: 'superseded',
  message: 'The subscription was unsubscribed or deleted after the timestamp',
};

/** An entry as it was sent; `null` counts as not sent. */
export interface SentEntry {
  feedUrl: string;
  guid?: unknown;
  timestamp?: unknown;
  title?: unknown;
}

/** A constant, as building a schema costs more than a use of it. */
const sentGuid = guidSchema.nullish();

/** Validates one entry (docs/reference/subscriptions.md, "Subscriptions"). */
export function judgeEntry({ feedUrl: sent, guid, timestamp, title }: SentEntry): JudgedEntry {
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
    title: titleOf(title, feedUrl),
  };
}

/** Returns a title as stored. Other types, an empty title and the URL itself count as not sent. */
function titleOf(sent: unknown, feedUrl: string): string | undefined {
  if (typeof sent !== 'string' || sent.trim() === feedUrl) return undefined;
  return keptTitle(sent) || undefined;
}

/** Applies a batch in order. Items in `success` show their subscription after the full batch. */
export function applyBatch(
  known: KnownSubscriptions,
  entries: readonly JudgedEntry[],
  budget: MergeBudget,
): Subscribed {
  const failure: Subscribed['failure'] = [];
  const accepted: { feedUrl: string; id: number }[] = [];
  for (const entry of entries) {
    const outcome = entry.fault ?? applyEntry(known, entry, budget);
    if ('code' in outcome) failure.push({ feed_url: entry.feedUrl, ...outcome });
    else accepted.push({ feedUrl: entry.feedUrl, id: outcome.id });
  }
  const success = accepted.map(({ feedUrl, id }) => {
    const { guid, subscriptionChanged } = known.byId(id);
    return {
      feed_url: feedUrl,
      guid,
      is_subscribed: true as const,
      subscription_changed: subscriptionChanged,
    };
  });
  return { success, failure };
}

/** Applies one entry to the result of the earlier ones. */
export function applyEntry(
  known: KnownSubscriptions,
  entry: UsableEntry,
  budget: MergeBudget,
): SubscriptionRow | EntryFailure {
  const { feedUrl, guid, derivedGuid, timestamp } = entry;
  const { row, same, taken, ...names } = matchEntry(known, entry);
  if (row && known.isSuperseded(row, true, timestamp)) return applySuperseded(known, entry, row);
  // A merge keeps the later time of the two, so a later unsubscription or deletion stays in force.
  if (row && same && !isStillSubscribed(same) && known.isSuperseded(same, true, timestamp))
    return applySuperseded(known, entry, row);
  if (taken)
    return {
      code: 'feed_url_taken',
      message: 'Another subscription has this feed_url',
      guid: taken.guid,
    };
  const owner = guid === undefined ? undefined : known.byGuid(guid);
  const newGuid = guid ?? (row ? undefined : derivedGuid);
  const isAllowed = known.quota.allows({
    live: (isLive(row) ? 0 : 1) - (same ? 1 : 0),
    guids: newGuid === undefined || known.byGuid(newGuid) ? 0 : 1,
    urls: (row && !names.url) || known.byUrl(feedUrl) ? 0 : 1,
    guidChanges:
      row && guid !== undefined && names.guid === 'current' && known.wouldReplace(row, guid)
        ? 1
        : 0,
    pointers: same || (owner && owner !== row && owner.guid === guid) ? 1 : 0,
  });
  if (!isAllowed) return limitReached;
  if (same && row && !budget.take(same, row)) return mergeTooLarge;
  if (!row) {
    const made = known.create(feedUrl, guid ?? derivedGuid, guid !== undefined, timestamp);
    return withTitle(known, entry, made);
  }
  if (same) known.merge(same, row);
  if (guid !== undefined && names.guid === 'current') known.changeGuid(row, guid);
  else if (guid !== undefined) known.nameGuid(row, guid, true);
  // A revived tombstone does not return to a URL that another subscription took.
  if (names.url === 'current' || row.hasLostUrl) known.moveTo(row, feedUrl);
  else if (names.url === 'alias') known.nameUrl(row, feedUrl);
  if (same || !known.isSettled(row, timestamp)) known.add(row, timestamp);
  return withTitle(known, entry, row);
}

/** Applies the title of an entry, which has the entry's time. Returns the row. */
function withTitle(
  known: KnownSubscriptions,
  { title, timestamp }: UsableEntry,
  row: SubscriptionRow,
): SubscriptionRow {
  if (title !== undefined) known.setTitle(row, title, timestamp);
  return row;
}

/** Ignores the state of an outdated entry, but adds its names and title to a live subscription. */
function applySuperseded(
  known: KnownSubscriptions,
  entry: UsableEntry,
  row: SubscriptionRow,
): SubscriptionRow | EntryFailure {
  if (!isLive(row)) return superseded;
  addFreeNames(known, entry, row);
  withTitle(known, entry, row);
  return isStillSubscribed(row) ? row : superseded;
}

/** Adds the guid and URL of an entry to a live subscription, if no other live one has them. */
function addFreeNames(
  known: KnownSubscriptions,
  { feedUrl, guid }: UsableEntry,
  row: SubscriptionRow,
): void {
  const isFree = (owner: SubscriptionRow | undefined) => !isLive(owner);
  if (
    guid !== undefined &&
    isFree(known.byGuid(guid)) &&
    known.quota.allows({ guids: 1, pointers: 1 })
  )
    known.nameGuid(row, guid, true);
  if (isFree(known.byUrl(feedUrl)) && known.quota.allows({ urls: 1 })) known.nameUrl(row, feedUrl);
}

/** Returns the match of an entry among the subscriptions that were read. */
export function matchEntry(known: KnownSubscriptions, entry: UsableEntry): EntryMatch {
  return entry.guid === undefined
    ? matchByUrl(known, entry)
    : matchByGuid(known, entry, entry.guid);
}

/** Matches an entry without a guid by URL, else by the derived guid; never moves a URL. */
function matchByUrl(known: KnownSubscriptions, { feedUrl, derivedGuid }: UsableEntry): EntryMatch {
  const byUrl: EntryMatch = { row: known.byUrl(feedUrl) };
  const byGuid: EntryMatch = { row: known.byGuid(derivedGuid), url: 'alias' };
  // A live subscription takes precedence over a tombstone.
  return (
    [byUrl, byGuid].find(({ row }) => isLive(row)) ?? [byUrl, byGuid].find(({ row }) => row) ?? {}
  );
}

/** Matches an entry by its guid. It can move the URL, or rename the owner of the URL. */
function matchByGuid(
  known: KnownSubscriptions,
  { feedUrl, derivedGuid }: UsableEntry,
  guid: string,
): EntryMatch {
  const named = known.byGuid(guid);
  const owner = known.byUrl(feedUrl);
  const isCurrent = isLive(owner) && known.isCurrentUrl(owner, feedUrl);
  // For a URL without an owner: the subscription that an entry without a guid would match.
  const alike = owner ? undefined : known.byGuid(derivedGuid);
  if (!named) {
    if (owner)
      return { row: owner, guid: known.isCurrentUrl(owner, feedUrl) ? 'current' : 'alias' };
    return alike && alike.declaredGuids === 0 ? { row: alike, guid: 'current', url: 'alias' } : {};
  }
  if (!isLive(named)) {
    if (isCurrent) return { row: owner, guid: 'alias' };
    if (isLive(alike)) return { row: alike, guid: 'alias', url: 'alias' };
  }
  if (owner === named) return { row: named };
  if (isCurrent && owner.declaredGuids > 0) return { row: named, taken: owner };
  const other = isCurrent ? owner : alike;
  const isSame = isLive(other) && other !== named && other.declaredGuids === 0;
  return { row: named, url: 'current', same: isSame ? other : undefined };
}
