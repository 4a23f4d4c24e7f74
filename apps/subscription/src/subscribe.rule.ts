import {
  type EntryFailureCode,
  faultInHttpUrl,
  guidSchema,
  type RequestOf,
  type Subscribed,
  type subscribe,
} from '#contracts';
import { type KnownSubscriptions, type SubscriptionRow } from './known-subscriptions.js';
import { podcastGuid } from './podcast-guid.rule.js';

type Entry = RequestOf<typeof subscribe>['entries'][number];

/** A valid entry; its guid is derived from the URL where the client sent none. */
interface UsableEntry {
  feedUrl: string;
  guid: string;
  guidWasSent: boolean;
  fault?: undefined;
}

/** A valid entry, or what is wrong with it. */
export type JudgedEntry = UsableEntry | { feedUrl: string; fault: { code: EntryFailureCode; message: string } };

/**
 * What an entry means (docs/interface.md, "Names"): the subscription that it names, none where it makes a new one, and
 * whether its URL or guid is added to it, as the current one or as a further name.
 */
interface Meaning {
  row?: SubscriptionRow;
  url?: 'current' | 'alias';
  guid?: 'current' | 'alias';
}

const limitReached = {
  code: 'limit_reached',
  message: 'You have as many subscriptions, or names of them, as you may',
} as const;

/** Validates an entry by itself (docs/interface.md, "Subscriptions"). */
export function judgeEntry({ feedUrl: sent, guid }: Entry): JudgedEntry {
  const feedUrl = sent.trim();
  const message = faultInHttpUrl(feedUrl);
  if (message !== undefined) return { feedUrl: sent, fault: { code: 'invalid_url', message } };
  if (guid === undefined) return { feedUrl, guid: podcastGuid(feedUrl), guidWasSent: false };
  const parsed = guidSchema.safeParse(guid);
  if (parsed.success) return { feedUrl, guid: parsed.data, guidWasSent: true };
  return { feedUrl, fault: { code: 'invalid_guid', message: 'The guid is not a valid UUID' } };
}

/**
 * Applies a batch in the order of the request, each entry seeing the effects of earlier ones. Several entries may name
 * the same subscription.
 */
export function applyBatch(known: KnownSubscriptions, entries: readonly JudgedEntry[], stamp: string): Subscribed {
  const failure: Subscribed['failure'] = [];
  const accepted: { feedUrl: string; row: SubscriptionRow }[] = [];
  for (const entry of entries) {
    const outcome = entry.fault ?? applyEntry(known, entry);
    if ('code' in outcome) failure.push({ feed_url: entry.feedUrl, ...outcome });
    else accepted.push({ feedUrl: entry.feedUrl, row: outcome });
  }
  const success = accepted.map(({ feedUrl, row }) => ({
    feed_url: feedUrl,
    guid: row.guid,
    is_subscribed: true as const,
    subscription_changed: stamp,
  }));
  return { success, failure };
}

function applyEntry(known: KnownSubscriptions, entry: UsableEntry): SubscriptionRow | typeof limitReached {
  const { feedUrl, guid } = entry;
  const meaning = entry.guidWasSent ? follow(known, feedUrl, guid) : find(known, feedUrl, guid);
  const { row = undefined } = meaning;
  const isAllowed = known.quota.allows({
    live: row && row.deleted === null ? 0 : 1,
    guids: (row && !meaning.guid) || known.byGuid(guid) ? 0 : 1,
    urls: (row && !meaning.url) || known.byUrl(feedUrl) ? 0 : 1,
    guidChanges: row && meaning.guid === 'current' && known.wouldReplace(row, guid) ? 1 : 0,
  });
  if (!isAllowed) return limitReached;
  if (!row) return known.create(feedUrl, guid);
  if (meaning.url === 'current') known.moveTo(row, feedUrl);
  if (meaning.url === 'alias') known.nameUrl(row, feedUrl);
  if (meaning.guid === 'current') known.changeGuid(row, guid);
  if (meaning.guid === 'alias') known.nameGuid(row, guid);
  known.add(row);
  return row;
}

/** An entry without a guid names a subscription by its URL, or else by the guid derived from it, and never moves it. */
function find(known: KnownSubscriptions, feedUrl: string, derivedGuid: string): Meaning {
  const byUrl = known.byUrl(feedUrl);
  if (byUrl) return { row: byUrl };
  const byGuid = known.byGuid(derivedGuid);
  return byGuid ? { row: byGuid, url: 'alias' } : {};
}

/** Of an entry with a guid the guid decides: it can move a subscription to the URL, or rename the one that is there. */
function follow(known: KnownSubscriptions, feedUrl: string, guid: string): Meaning {
  const named = known.byGuid(guid);
  const owner = known.byUrl(feedUrl);
  if (named) {
    const currentElsewhere = owner && owner !== named && owner.feedUrl === feedUrl;
    return owner === named || currentElsewhere ? { row: named } : { row: named, url: 'current' };
  }
  if (!owner) return {};
  return { row: owner, guid: owner.feedUrl === feedUrl ? 'current' : 'alias' };
}
