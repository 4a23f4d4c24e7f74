import {
  countedTime,
  faultInHttpUrl,
  guidSchema,
  type LoadVerdicts,
  parseTime,
  type SubscriptionLoadEntry,
  toStamp,
  podcastGuid,
} from '#contracts';
import type { KnownSubscriptions } from './known-subscriptions.js';
import { isLive, isStillSubscribed, never, type SubscriptionRow, urlKey } from './subscription.row.js';
import type { MergeBudget } from './merge.budget.js';
import {
  applyEntry,
  type Fault,
  judgeEntry,
  limitReached,
  meaningOf,
  nameFreely,
  superseded,
  type UsableEntry,
} from './subscribe.rule.js';

type Kind = 'live' | 'tombstone' | 'pointer';

/** A valid entry of a bulk load, with everything it says in the form that is stored. */
export interface UsableLoad extends Required<Pick<UsableEntry, 'feedUrl' | 'derivedGuid' | 'timestamp'>> {
  kind: Kind;
  guid: string | undefined;
  isSubscribed: boolean;
  mergedInto: string | undefined;
  guidChanged: string | undefined;
  formerGuids: [guid: string, replaced: string][];
  /** Former guids that are names of it as well. */
  formerNames: string[];
  guids: { guid: string; sent: boolean; derived: boolean }[];
  urls: string[];
  /** The keys of further URLs, those of `urls` among them. */
  urlKeys: string[];
  fault?: undefined;
}

/** A valid entry, or what is wrong with it. */
export type JudgedLoad = UsableLoad | { fault: Fault };

const badGuid: Fault = { code: 'invalid_guid', message: 'A guid is not a valid UUID' };
const badTime: Fault = { code: 'invalid_value', message: 'A time is not a date and time (RFC 3339)' };
const noSurvivor: Fault = {
  code: 'unknown_subscription',
  message: 'There is no subscription with the guid merged_into',
};

/** Judges the form of one entry by itself: all that it names has to be usable. */
export function judgeLoad(sent: SubscriptionLoadEntry): JudgedLoad {
  const judged = judgeEntry(sent);
  if (judged.fault) return { fault: judged.fault };
  const { namedBy: { guids = [], feedUrls = [], feedUrlHashes = [] } = {}, formerGuids = [] } = sent;
  const named = guids.map(({ guid, sent: wasSent = true, derived = false }) => ({ guid, sent: wasSent, derived }));
  const all = [...named, ...formerGuids, ...(sent.mergedInto === undefined ? [] : [{ guid: sent.mergedInto }])];
  if (all.some(({ guid }) => !guidSchema.safeParse(guid).success)) return { fault: badGuid };
  const times = [...formerGuids.map(({ replaced }) => replaced), ...(sent.guidChanged ? [sent.guidChanged] : [])];
  if (times.some((time) => !parseTime(time))) return { fault: badTime };
  const urls = feedUrls.map((url) => url.trim());
  const fault = urls.map(faultInHttpUrl).find((found) => found !== undefined);
  if (fault !== undefined) return { fault: { code: 'invalid_url', message: `named_by: ${fault}` } };
  const stampOf = (time: string) => toStamp(parseTime(time) as { instant: string; minuteForm: boolean });
  return {
    ...judged,
    kind: kindOf(sent),
    guid: judged.guid,
    timestamp: judged.timestamp ?? never,
    isSubscribed: sent.isSubscribed ?? true,
    mergedInto: sent.mergedInto?.toLowerCase(),
    guidChanged: sent.guidChanged === undefined ? undefined : stampOf(sent.guidChanged),
    formerNames: formerGuids.map((former) => former.guid.toLowerCase()),
    formerGuids: formerGuids.map(({ guid, replaced }) => [guid.toLowerCase(), stampOf(replaced)]),
    guids: named.map((name) => ({ ...name, guid: name.guid.toLowerCase() })),
    urls,
    urlKeys: [...urls.map(urlKey), ...feedUrlHashes],
  };
}

function kindOf({ mergedInto, deleted }: SubscriptionLoadEntry): Kind {
  if (mergedInto !== undefined) return 'pointer';
  return deleted ? 'tombstone' : 'live';
}

/**
 * Applies a chunk of a bulk load (docs/data.md, "What a line does"). Live ones come first and then tombstones, as these
 * stand in nobody's way, and pointers last, as they need their survivors; row ids are given out in the order of lines.
 *
 * @param pointers guids of the user's subscriptions that were merged into others.
 * @param distinct whether different ones are different, and have the names that are said and no others.
 */
export function applyLoads(
  known: KnownSubscriptions,
  entries: readonly JudgedLoad[],
  budget: MergeBudget,
  { pointers, distinct }: { pointers: ReadonlySet<string>; distinct: boolean },
): LoadVerdicts {
  const refused: LoadVerdicts['refused'] = [];
  let clamped = 0;
  const ids = entries.map(({ fault }) => (fault ? 0 : known.takeId()));
  for (const entry of entries) if (!entry.fault) for (const url of entry.urls) known.hashed.keyOf(url);
  const apply = (kind: Kind) => {
    for (const [index, entry] of entries.entries()) {
      if (entry.fault || entry.kind !== kind) continue;
      const counted = countedTime(entry.timestamp, known.arrivedMs);
      if (counted.clamped) clamped += 1;
      const load = { ...entry, timestamp: counted.at };
      const id = ids[index] as number;
      const outcome = distinct
        ? applyDistinct(known, load, id, counted.clamped, budget, pointers)
        : applyLoad(known, load, id, counted.clamped, budget, pointers);
      // What stands is newer: that is no refusal.
      if ('message' in outcome && outcome !== superseded) refused.push({ entry: index, ...outcome });
    }
  };
  for (const [index, { fault }] of entries.entries()) if (fault) refused.push({ entry: index, ...fault });
  for (const kind of ['live', 'tombstone', 'pointer'] as const) apply(kind);
  return { refused: refused.map(({ entry, code, message }) => ({ entry, code, message })), clamped };
}

/** Whether its time was clamped, what may be merged, and guids of pointers. */
type Rest = [clamped: boolean, budget: MergeBudget, pointers: ReadonlySet<string>];

function applyLoad(
  known: KnownSubscriptions,
  load: UsableLoad,
  id: number,
  ...[clamped, budget, pointers]: Rest
): SubscriptionRow | Fault {
  if (!hasRoom(known, load)) return limitReached;
  const { kind, guid, derivedGuid, mergedInto } = load;
  if (kind === 'pointer') {
    const survivor = known.byGuid(mergedInto as string);
    if (!survivor) return noSurvivor;
    if (!pointers.has(guid ?? derivedGuid)) {
      const standing = { mergedInto: survivor.id, mergedAt: known.stamp };
      describe(known, load, known.place(id, load.feedUrl, guid ?? derivedGuid, standing));
    }
    // How it came about the survivor's line has said.
    if (!known.byGuid(guid ?? derivedGuid))
      known.addGuid(survivor, guid ?? derivedGuid, guid !== undefined, guid === derivedGuid);
    return addNames(known, load, survivor);
  }
  const entry = { feedUrl: load.feedUrl, guid, derivedGuid, timestamp: load.timestamp, id };
  const row = kind === 'live' ? applyLive(known, load, entry, clamped, budget) : applyTombstone(known, load, entry);
  if ('code' in row) return row;
  describe(known, load, row);
  return addNames(known, load, row);
}

/** One of a system that has told its subscriptions apart: where the user has none of its names it is one more. */
function applyDistinct(
  known: KnownSubscriptions,
  load: UsableLoad,
  id: number,
  ...rest: Rest
): SubscriptionRow | Fault {
  const { kind, feedUrl, derivedGuid, guid = derivedGuid, timestamp: subscribedAt, isSubscribed, urlKeys } = load;
  const names = [guid, ...load.guids.map((name) => name.guid)];
  const isKnown = names.some((name) => known.byGuid(name)) || urlKeys.some((key) => known.hasUrl(key));
  // Of former guids that name nothing any more, or another one, the latter's line says so; no guid is derived from URLs.
  const said = { ...load, formerNames: [], urls: [] };
  if (isKnown || kind === 'pointer') return applyLoad(known, said, id, ...rest);
  if (!hasRoom(known, load, names, urlKeys)) return limitReached;
  const standing = kind === 'live' ? { isSubscribed } : { deleted: known.stamp };
  const row = known.place(id, feedUrl, guid, { ...standing, subscribedAt });
  describe(known, load, row);
  if (!load.guids.some((name) => name.guid === guid)) known.addGuid(row, guid, true, guid === derivedGuid);
  return addNames(known, said, row);
}

/** A live one: as POST subscribes, or as PATCH unsubscribes. One that stands so already is not stamped again. */
function applyLive(
  known: KnownSubscriptions,
  load: UsableLoad,
  entry: UsableEntry & { id: number },
  clamped: boolean,
  budget: MergeBudget,
): SubscriptionRow | Fault {
  const { timestamp, isSubscribed } = load;
  const { row, ...more } = meaningOf(known, entry);
  const isSettled = row && isLive(row) && (clamped || row.subscribedAt >= timestamp);
  if (isSubscribed) {
    const stands = isSettled && isStillSubscribed(row) && Object.values(more).every((value) => value === undefined);
    return stands ? row : applyEntry(known, entry, budget);
  }
  if (!row) {
    const made = known.create(
      entry.feedUrl,
      entry.guid ?? entry.derivedGuid,
      entry.guid !== undefined,
      timestamp,
      entry.id,
    );
    known.setSubscribed(made, false, timestamp);
    return made;
  }
  if (!isLive(row)) return superseded;
  nameFreely(known, entry, row);
  const changes = row.isSubscribed ? !known.isSuperseded(row, false, timestamp) : !isSettled;
  if (changes) known.setSubscribed(row, false, timestamp);
  return row;
}

/**
 * A tombstone: one where the user has no such subscription. One that is live was not deleted here, and its episodes are
 * for DELETE to take away: it is unsubscribed, where it was not subscribed later.
 */
function applyTombstone(known: KnownSubscriptions, load: UsableLoad, entry: UsableEntry & { id: number }) {
  const { feedUrl, guid, derivedGuid, timestamp } = load;
  const row = known.byGuid(guid ?? derivedGuid) ?? (guid === undefined ? known.byUrl(feedUrl) : undefined);
  if (!row) return bury(known, entry);
  if (isLive(row) && row.isSubscribed && !known.isSuperseded(row, false, timestamp))
    known.setSubscribed(row, false, timestamp);
  return row;
}

/** A tombstone of what another system deleted. Of its names it gets those that are nobody's. */
function bury(known: KnownSubscriptions, entry: UsableEntry & { id: number }): SubscriptionRow {
  const { id, feedUrl, derivedGuid, guid = derivedGuid, timestamp } = entry;
  const row = known.place(id, feedUrl, guid, { deleted: known.stamp, subscribedAt: timestamp as string });
  known.addGuid(row, guid, true, guid === derivedGuid);
  known.addUrl(row, urlKey(feedUrl));
  known.addGuid(row, derivedGuid, false, true);
  return row;
}

/** Adds what another system knows of a row's past, where the row is new here. */
function describe(known: KnownSubscriptions, load: UsableLoad, row: SubscriptionRow): void {
  known.remember(row, load.formerGuids, load.guidChanged);
}

/** Adds all further names that are nobody's. */
function addNames(known: KnownSubscriptions, load: UsableLoad, row: SubscriptionRow): SubscriptionRow {
  for (const { guid, sent, derived } of load.guids) known.addGuid(row, guid, sent, derived);
  for (const guid of load.formerNames) if (!known.byGuid(guid)) known.addGuid(row, guid, true, false);
  for (const key of load.urlKeys) known.addUrl(row, key);
  for (const url of load.urls) if (!known.byGuid(podcastGuid(url))) known.addGuid(row, podcastGuid(url), false, true);
  return row;
}

/** Every guid that an entry may add, where it does not say exactly which. */
function namesOf({ guid, derivedGuid, guids, formerNames, urls }: UsableLoad): string[] {
  const current = guid === undefined ? [derivedGuid] : [derivedGuid, guid];
  return [...current, ...guids.map((name) => name.guid), ...formerNames, ...urls.map(podcastGuid)];
}

/** Whether all of it would fit: what an entry brings is applied as a whole or not at all. */
function hasRoom(
  known: KnownSubscriptions,
  load: UsableLoad,
  names = namesOf(load),
  keys = [urlKey(load.feedUrl), ...load.urlKeys],
): boolean {
  const { kind, guid, derivedGuid } = load;
  const isKnown = known.byGuid(guid ?? derivedGuid) !== undefined;
  return known.quota.allows({
    live: kind === 'live' && !isKnown ? 1 : 0,
    pointers: kind === 'pointer' ? 1 : 0,
    guids: [...new Set(names)].filter((name) => !known.byGuid(name)).length,
    urls: [...new Set(keys)].filter((key) => !known.hasUrl(key)).length,
    guidChanges: load.formerGuids.length,
  });
}
