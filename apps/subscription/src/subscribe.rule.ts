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

/** An entry that can be applied; its guid is derived from the URL where the client sent none. */
interface UsableEntry {
  feedUrl: string;
  guid: string;
  guidWasSent: boolean;
  fault?: undefined;
}

/** An entry that can be applied, or why not. */
export type JudgedEntry = UsableEntry | { feedUrl: string; fault: { code: EntryFailureCode; message: string } };

/**
 * What an entry means (docs/interface.md, "Names"): the subscription that it names, none for a new one, and what
 * becomes of what it is named by.
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

/** Judges one entry by itself (docs/interface.md, "Subscriptions"). */
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
 * Applies a batch in the order of the request, each entry seeing the earlier ones; one subscription may have several
 * verdicts.
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

/** An entry without a guid: by its exact URL, then by the guid derived from it. It never moves a subscription. */
function find(known: KnownSubscriptions, feedUrl: string, derivedGuid: string): Meaning {
  const byUrl = known.byUrl(feedUrl);
  if (byUrl) return { row: byUrl };
  const byGuid = known.byGuid(derivedGuid);
  return byGuid ? { row: byGuid, url: 'alias' } : {};
}

/** An entry with a guid: the guid is authoritative, so it can move a subscription or rename the one at the URL. */
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
