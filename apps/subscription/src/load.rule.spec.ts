import { describe, expect, it } from 'vitest';
import type { LoadVerdicts, SubscriptionLoadEntry } from '#contracts';
import { changedRow, type Described, guid, world, worldWith } from '../testing/known.world.js';
import type { KnownSubscriptions } from './known-subscriptions.js';
import { applyLoads, judgeLoad } from './load.rule.js';
import { MergeBudget } from './merge.budget.js';

const [a, b, c, d] = ['a', 'b', 'c', 'd'].map(guid) as [string, string, string, string];
const url = (name: string) => `https://feeds.example/${name}`;
const before = '2025-12-31T00:00:00Z';
const after = '2026-01-02T00:00:00Z';

/** A subscription that stands since 2026-01-01. */
const standing: Described = { id: 1, urls: [url('a')], guids: [a] };

function load(known: KnownSubscriptions, ...entries: SubscriptionLoadEntry[]): LoadVerdicts {
  return applyLoads(known, entries.map(judgeLoad), new MergeBudget(), { pointers: new Set(), distinct: false });
}

/** The same of a system that has told its subscriptions apart. */
function loadDistinct(known: KnownSubscriptions, ...entries: SubscriptionLoadEntry[]): LoadVerdicts {
  return applyLoads(known, entries.map(judgeLoad), new MergeBudget(), { pointers: new Set(), distinct: true });
}

/** A row as a load leaves it; `undefined` where it is as it was. */
function rowAfter(stands: Described, entry: Omit<SubscriptionLoadEntry, 'feedUrl'>) {
  const known = world(stands);
  expect(load(known, { feedUrl: url('a'), guid: a, ...entry }).refused).toEqual([]);
  return changedRow(known, stands.id);
}

describe('a subscription of a file', () => {
  it.each([
    ['subscribed, then as now', { timestamp: before }],
    ['subscribed, at no time', {}],
    ['unsubscribed before', { isSubscribed: false, timestamp: before }],
    ['deleted before', { deleted: true as const, timestamp: before }],
  ])('that is older than what stands changes nothing: %s', (_, entry) =>
    expect(rowAfter(standing, entry)).toBeUndefined(),
  );

  it('that was unsubscribed later is unsubscribed; again it is no change', () => {
    const entry = { isSubscribed: false, timestamp: after };
    expect(rowAfter(standing, entry)).toMatchObject({
      isSubscribed: false,
      subscribedAt: '2026-01-02T00:00:00.000000Z',
    });
    const stands = { ...standing, isSubscribed: false, subscribedAt: '2026-01-02T00:00:00.000000Z' };
    expect(rowAfter(stands, entry)).toBeUndefined();
  });

  it('that was deleted later is unsubscribed and keeps its episodes', () => {
    expect(rowAfter(standing, { deleted: true, timestamp: after })).toMatchObject({
      isSubscribed: false,
      deleted: null,
    });
  });

  it('ahead of the clock is no change again where it stands already', () => {
    expect(rowAfter(standing, { timestamp: '2099-01-01T00:00:00Z' })).toBeUndefined();
  });

  it('does not bring back what was deleted later', () => {
    const tombstone = { ...standing, isSubscribed: false, deleted: '2026-01-01T00:00:00.000Z' };
    for (const isSubscribed of [true, false])
      expect(rowAfter(tombstone, { isSubscribed, timestamp: before })).toBeUndefined();
    expect(rowAfter(tombstone, { timestamp: after })).toMatchObject({ deleted: null, isSubscribed: true });
  });

  it('brings further names where they are nobody’s', () => {
    const known = world(standing, { id: 2, urls: [url('b')], guids: [b] });
    const namedBy = { guids: [{ guid: b }, { guid: c, sent: false, derived: true }], feedUrls: [url('b'), url('c')] };
    load(known, { feedUrl: url('a'), guid: a, timestamp: before, namedBy });
    expect([b, c].map((name) => known.byGuid(name)?.id)).toEqual([2, 1]);
    expect(['b', 'c'].map((name) => known.byUrl(url(name))?.id)).toEqual([2, 1]);
  });
});

describe('a chunk of a file', () => {
  it('gives ids in the order of lines, whatever they are, and a pointer its survivor wherever that is', () => {
    const known = world();
    const entries: SubscriptionLoadEntry[] = [
      { feedUrl: url('a'), guid: a, mergedInto: c },
      { feedUrl: url('b'), guid: b, deleted: true },
      { feedUrl: url('c'), guid: c },
      { feedUrl: url('d'), guid: d, isSubscribed: false },
    ];
    expect(load(known, ...entries)).toEqual({ refused: [], clamped: 0 });
    const rows = known.changes().rows.sort((one, other) => one.id - other.id);
    expect(rows.map((row) => row.guid)).toEqual([a, b, c, d]);
    expect(rows[0]).toMatchObject({ mergedInto: rows[2]?.id });
    expect(rows[1]).toMatchObject({ deleted: expect.any(String), isSubscribed: false });
    expect(known.byGuid(a)?.guid).toBe(c);
  });

  it('lets a tombstone take no name of a live one, in whatever order they come', () => {
    const known = world();
    load(known, { feedUrl: url('a'), guid: a, deleted: true }, { feedUrl: url('a'), guid: b });
    expect([known.byUrl(url('a'))?.guid, known.byGuid(a)?.deleted === null]).toEqual([b, false]);
  });

  it('says how a present guid came about: derived from a former URL it is not declared', () => {
    const known = world();
    const namedBy = { guids: [{ guid: a, sent: false, derived: true }] };
    load(known, { feedUrl: url('a'), guid: a, namedBy }, { feedUrl: url('b'), guid: b });
    expect([known.byGuid(a)?.declaredGuids, known.byGuid(b)?.declaredGuids]).toEqual([0, 1]);
  });

  it('keeps under which guids clients saw a new one, at most up to now and one at a time', () => {
    const known = world();
    const formerGuids = [b, c, d].map((former, n) => ({
      guid: former,
      replaced: n < 2 ? before : '2099-01-01T00:00:00Z',
    }));
    load(known, { feedUrl: url('a'), guid: a, formerGuids, guidChanged: '2099-01-01T00:00:00Z' });
    const { formerGuids: kept, rows } = known.changes();
    expect(kept.map(([, former, replaced]) => [former, replaced])).toEqual([
      [c, '2025-12-31T00:00:00.000Z'],
      [d, '2026-02-02T00:00:00.000Z'],
    ]);
    expect(rows[0]).toMatchObject({ guidChanged: '2026-02-02T00:00:00.000Z' });
    expect([b, c, d].map((name) => known.byGuid(name)?.guid)).toEqual([a, a, a]);
  });

  it.each([
    ['invalid_url', { feedUrl: 'feeds.example' }],
    ['invalid_guid', { feedUrl: url('a'), guid: 'x' }],
    ['invalid_guid', { feedUrl: url('a'), mergedInto: 'x' }],
    ['invalid_guid', { feedUrl: url('a'), namedBy: { guids: [{ guid: 'x' }] } }],
    ['invalid_url', { feedUrl: url('a'), namedBy: { feedUrls: ['x'] } }],
    ['invalid_value', { feedUrl: url('a'), timestamp: 'x' }],
    ['invalid_value', { feedUrl: url('a'), guidChanged: 'x' }],
    ['unknown_subscription', { feedUrl: url('a'), mergedInto: d }],
  ])('refuses with %s what can not be used, and applies the rest: %j', (code, entry) => {
    const known = world();
    expect(load(known, entry, { feedUrl: url('b'), guid: b }).refused).toMatchObject([{ entry: 0, code }]);
    expect(known.changes().rows.map((row) => row.guid)).toEqual([b]);
  });

  it.each([
    ['live', { feedUrl: url('a') }],
    ['guids', { feedUrl: url('a'), deleted: true as const }],
    ['urls', { feedUrl: url('a') }],
    ['guidChanges', { feedUrl: url('a'), formerGuids: [{ guid: b, replaced: before }] }],
  ])('refuses beyond the quota of %s, and applies nothing of the line', (what, entry) => {
    const known = worldWith({ [what]: 0 });
    expect(load(known, entry).refused).toMatchObject([{ code: 'limit_reached' }]);
    expect(known.changes()).toMatchObject({ rows: [], guids: [], urls: [] });
  });
});

describe('a subscription that another system has told apart', () => {
  it('gets the names that are said and no others: none is derived, and former guids name nothing by themselves', () => {
    const known = world();
    const formerGuids = [{ guid: c, replaced: before }];
    const namedBy = { guids: [{ guid: a, sent: false }, { guid: b }], feedUrlHashes: [] };
    expect(loadDistinct(known, { feedUrl: url('a'), guid: a, formerGuids, namedBy }).refused).toEqual([]);
    const { guids, urls, formerGuids: history } = known.changes();
    expect(guids.map(([name, , sent, derived]) => [name, sent, derived])).toEqual([
      [a, false, false],
      [b, true, false],
    ]);
    expect(urls).toEqual([]);
    expect(history.map(([, name]) => name)).toEqual([c]);
  });

  it('is found by its names where the user has one of them: the rules of a load decide', () => {
    const known = world(standing);
    const entry = { feedUrl: url('a'), guid: a, isSubscribed: false, timestamp: after };
    expect(loadDistinct(known, entry).refused).toEqual([]);
    expect(changedRow(known, standing.id)).toMatchObject({ isSubscribed: false });
  });
});
