import { faultInHttpUrl, guidSchema, type RequestOf, type Subscribed, type subscribe } from '#contracts';
import { type KnownSubscriptions, type SubscriptionRow } from './known-subscriptions.js';
import { podcastGuid } from './podcast-guid.rule.js';

type Entry = RequestOf<typeof subscribe>['entries'][number];

/** An entry that can be applied, or the message why not. */
export type JudgedEntry =
  | { feedUrl: string; guid: string | undefined; derivedGuid: string; fault?: undefined }
  | { feedUrl: string; fault: string };

/** Judges one entry by itself (POST /subscriptions, Rule). */
export function judgeEntry({ feedUrl, guid }: Entry): JudgedEntry {
  const fault = faultInHttpUrl(feedUrl);
  if (fault !== undefined) return { feedUrl, fault };
  if (guid === undefined) return { feedUrl, guid, derivedGuid: podcastGuid(feedUrl) };
  const parsed = guidSchema.safeParse(guid);
  if (!parsed.success) return { feedUrl, fault: 'The guid is not a valid UUID' };
  return { feedUrl, guid: parsed.data, derivedGuid: podcastGuid(feedUrl) };
}

/** Applies a batch in the order of the request, each entry seeing the earlier ones; one subscription may have several verdicts. */
export function applyBatch(known: KnownSubscriptions, entries: readonly JudgedEntry[], stamp: string): Subscribed {
  const failure: Subscribed['failure'] = [];
  const accepted: { feedUrl: string; row: SubscriptionRow }[] = [];
  for (const entry of entries) {
    if (entry.fault !== undefined) {
      failure.push({ feed_url: entry.feedUrl, message: entry.fault });
      continue;
    }
    const row = entry.guid === undefined ? findOrCreate(known, entry) : follow(known, entry.feedUrl, entry.guid);
    known.add(row);
    accepted.push({ feedUrl: entry.feedUrl, row });
  }
  const success = accepted.map(({ feedUrl, row }) => ({
    ...{ feed_url: feedUrl, guid: row.guid, is_subscribed: true as const, subscription_changed: stamp },
  }));
  return { success, failure };
}

/** An entry without a guid: by its exact URL, then by the guid derived from it. It never moves a subscription. */
function findOrCreate(known: KnownSubscriptions, entry: { feedUrl: string; derivedGuid: string }): SubscriptionRow {
  const byUrl = known.byUrl(entry.feedUrl);
  if (byUrl) return byUrl;
  const byGuid = known.byGuid(entry.derivedGuid);
  if (!byGuid) return known.create(entry.feedUrl, entry.derivedGuid);
  known.nameUrl(byGuid, entry.feedUrl);
  return byGuid;
}

/** An entry with a guid: the guid is authoritative, so it can move a subscription or rename the one at the URL. */
function follow(known: KnownSubscriptions, feedUrl: string, guid: string): SubscriptionRow {
  const named = known.byGuid(guid);
  const owner = known.byUrl(feedUrl);
  if (named) {
    const currentElsewhere = owner && owner !== named && owner.feedUrl === feedUrl;
    if (owner !== named && !currentElsewhere) known.moveTo(named, feedUrl);
    return named;
  }
  if (!owner) return known.create(feedUrl, guid);
  if (owner.feedUrl === feedUrl) known.changeGuid(owner, guid);
  else known.nameGuid(owner, guid);
  return owner;
}
