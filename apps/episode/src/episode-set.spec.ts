import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { EpisodeRow } from './episode.rules.js';
import {
  elsewhere,
  metadata,
  nothing,
  podcast,
  stored,
  syncId,
  upload,
  episodeSet,
} from '../testing/episode-set.fixture.js';

const number = fc.integer({ min: 1, max: 4 });
const time = fc
  .integer({ min: 0, max: 59 })
  .map((minute) => `2026-02-01T10:${String(minute).padStart(2, '0')}:00Z`);
const entry = fc
  .record(
    {
      podcastGuid: fc.constantFrom(podcast, podcast, elsewhere),
      sync: number,
      like: number,
      bare: fc.boolean(),
      enclosure: fc.nat(4),
      playedStatus: fc.record({ value: fc.boolean(), timestamp: time }),
    },
    { requiredKeys: ['podcastGuid', 'like'] },
  )
  .map(({ sync, like, bare, enclosure, ...rest }) => ({
    ...metadata(like, bare ? { episodeGuid: '' } : {}),
    ...(enclosure !== undefined && {
      enclosureUrl: enclosure === 0 ? '' : metadata(enclosure).enclosureUrl,
    }),
    ...(sync && { syncId: syncId(sync) }),
    ...rest,
  }));

it('keeps sync_ids and episode_guids unique and refers to no absorbed episode', () => {
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 15 }), (entries) => {
      const before = [
        stored(1, { enclosureUrl: '' }),
        stored(2),
        stored(3, { subscriptionId: 20 }),
        stored(4, { episodeGuid: '' }),
      ];
      const episodes = episodeSet(before);
      upload(episodes, ...entries);
      const { rows, absorbed, aliases } = episodes.changes();
      const gone = new Set(absorbed.map(({ from }) => from));
      const written = new Map([...before, ...rows].map((row) => [row.id, row]));
      const after = [...written.values()].filter((row) => !gone.has(row.id));
      const guids = after
        .filter((row) => row.episodeGuid !== '')
        .map((row) => `${row.subscriptionId} ${row.episodeGuid}`);
      expect(new Set(guids).size).toBe(guids.length);
      const names = [...after.map((row) => row.syncId), ...aliases.map(([name]) => name)];
      expect(new Set(names).size).toBe(names.length);
      expect(rows.every((row) => !gone.has(row.id))).toBe(true);
      expect(
        [...aliases.map(([, id]) => id), ...absorbed.map(({ into }) => into)].every(
          (id) => !gone.has(id),
        ),
      ).toBe(true);
    }),
    { numRuns: process.env.TEST_FULL ? 5_000 : 200 },
  );
});

it('has one episode for entries with parts of its metadata, in any order', () => {
  const parts = fc.constantFrom('guid', 'enclosure', 'both');
  const sent = fc.array(fc.record({ of: number, parts }), { maxLength: 12 });
  fc.assert(
    fc.property(
      sent,
      fc.shuffledSubarray([1, 2, 3, 4], { minLength: 4 }),
      fc.nat(12),
      (some, all, place) => {
        const episodes = episodeSet();
        const entries = some.toSpliced(
          place,
          0,
          ...all.map((of) => ({ of, parts: 'both' as const })),
        );
        const rows = upload(
          episodes,
          ...entries.map(({ of, parts: sentParts }) => ({
            ...(sentParts !== 'enclosure' && { episodeGuid: metadata(of).episodeGuid }),
            ...(sentParts !== 'guid' && { enclosureUrl: metadata(of).enclosureUrl }),
          })),
        );
        const survivors = entries.map(
          ({ of }, index) => [of, episodes.byId(Number(rows[index])).id] as const,
        );
        expect(new Set(survivors.map(String)).size).toBe(4);
        expect(episodes.changes().rows).toHaveLength(4);
      },
    ),
  );
});

it('changes nothing when a batch is repeated', () => {
  fc.assert(
    fc.property(fc.uniqueArray(number, { minLength: 1 }), time, (numbers, timestamp) => {
      const entries = numbers.map((n) => ({
        ...metadata(n),
        syncId: syncId(n),
        playedStatus: { value: n % 2 === 0, timestamp },
      }));
      const first = episodeSet();
      upload(first, ...entries);
      const second = episodeSet(first.changes().rows);
      upload(second, ...entries);
      expect(second.changes()).toEqual(nothing);
    }),
  );
});

it('keeps each status and its time if an entry sends none', () => {
  const at = (minute: number) => `2026-02-01T10:0${minute}:00.000000Z`;
  const before = [1, 2, 3, 4].map((n) =>
    stored(n, {
      ...(n === 4 && { episodeGuid: '' }),
      statuses: { playbackPosition: { value: n, at: at(n), minuteForm: false } },
    }),
  );
  const trash = fc.record({
    title: fc.string(),
    publishDate: fc.string(),
    episodeUrl: fc.string(),
    duration: fc.double(),
  });
  fc.assert(
    fc.property(fc.array(fc.tuple(entry, trash, fc.boolean()), { maxLength: 15 }), (sent) => {
      const episodes = episodeSet(before);
      const entries = sent.map(([of, only, isTrash]) => ({
        ...of,
        ...(isTrash && only),
        playedStatus: undefined,
      }));
      upload(episodes, ...entries);
      for (const { id, statuses } of before) {
        const now = episodes.byId(id).statuses.playbackPosition?.at ?? '';
        expect(now >= (statuses.playbackPosition?.at ?? '')).toBe(true);
      }
    }),
  );
});

it('has the same outcome with only named candidates as with all, or is incomplete', () => {
  const before = [
    stored(1, { enclosureUrl: '' }),
    stored(2),
    stored(3, { subscriptionId: 20 }),
    stored(4, { episodeGuid: '' }),
  ];
  let enough = 0;
  fc.assert(
    fc.property(fc.array(entry, { minLength: 1, maxLength: 6 }), (entries) => {
      const all = episodeSet(before);
      const few = episodeSet(
        named(before, entries),
        [],
        [],
        { episodes: 1_000, aliases: 1_000 },
        'identified',
      );
      const [outcome, expected] = [few, all].map((episodes) => upload(episodes, ...entries));
      if (few.isIncomplete) return;
      enough += 1;
      expect(outcome).toEqual(expected);
      expect(few.changes()).toEqual(all.changes());
    }),
    { numRuns: process.env.TEST_FULL ? 20_000 : 1_000 },
  );
  expect(enough).toBeGreaterThan(100);
});

type Entry = typeof entry extends fc.Arbitrary<infer Value> ? Value : never;

function named(episodes: EpisodeRow[], entries: Entry[]): EpisodeRow[] {
  const subscriptions: Record<string, number> = { [podcast]: 10, [elsewhere]: 20 };
  return episodes.filter((row) =>
    entries.some(
      (sent) =>
        sent.syncId === row.syncId ||
        (sent.episodeGuid !== '' &&
          sent.episodeGuid === row.episodeGuid &&
          subscriptions[sent.podcastGuid] === row.subscriptionId),
    ),
  );
}
