import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { unknownMetadata } from '#contracts';
import { metadata } from '../testing/episode-set.fixture.js';
import { bestMatch, matchRank as plainRank } from '../testing/plain-match.js';
import type { Identity } from './episode.rules.js';
import { MatchIndex, matchKeys } from './match.rules.js';

/** Returns the rank of two episodes by their keys. It must equal that of `matchRank`. */
function matchRank(a: Identity, b: Identity): number | undefined {
  const found = new Set(matchKeys(b, true).map((key) => JSON.stringify(key)));
  const ranks = matchKeys(a, false).filter((key) => found.has(JSON.stringify(key)));
  const rank = ranks.length === 0 ? undefined : Math.min(...ranks.map((key) => key.rank));
  expect(rank).toBe(plainRank(a, b));
  return rank;
}

const other = (same: Partial<Identity>) => metadata(2, same);
const one = metadata(1);
const bare = metadata(1, { episodeGuid: '' });
const pick = (...fields: (keyof Identity)[]) =>
  Object.fromEntries(fields.map((field) => [field, one[field]]));

const oneOf = <Value>(...values: Value[]) => fc.constantFrom(...values);
const any = fc.record({
  episodeGuid: oneOf('', 'g', 'h'),
  title: oneOf('', 't', 'u'),
  publishDate: oneOf(
    unknownMetadata.publishDate,
    '2025-01-01T00:00:00.000Z',
    '2025-01-02T00:00:00.000Z',
  ),
  enclosureUrl: oneOf('', 'https://e.example/1', 'https://e.example/2'),
  episodeUrl: oneOf('', 'https://p.example/1', 'https://p.example/2'),
});

describe('the rank of two episodes', () => {
  it('is 1 for an equal episode_guid, whatever else differs', () => {
    expect(matchRank(one, other(pick('episodeGuid')))).toBe(1);
  });

  it('is none for episode_guids that differ only in case', () => {
    expect(matchRank(one, other({ episodeGuid: one.episodeGuid.toUpperCase() }))).toBeUndefined();
  });

  it.each([
    ['either', bare, other(pick('enclosureUrl'))],
    ['the other', one, other({ ...pick('enclosureUrl'), episodeGuid: '' })],
    ['neither', bare, other({ ...pick('enclosureUrl'), episodeGuid: '' })],
  ])('is 2 for an equal enclosure_url if %s has no episode_guid', (_, a, b) => {
    expect(matchRank(a, b)).toBe(2);
  });

  it.each([
    [['publishDate', 'episodeUrl']],
    [['publishDate', 'title']],
    [['episodeUrl', 'title']],
    [['publishDate', 'episodeUrl', 'title']],
  ] as (keyof Identity)[][][])(
    'is 3 for two equal fields of publish_date, episode_url and title: %j',
    (fields) => {
      expect(matchRank(bare, other(pick(...fields)))).toBe(3);
      expect(matchRank(one, other({ ...pick(...fields), episodeGuid: '' }))).toBe(3);
      expect(matchRank(one, other(pick(...fields)))).toBeUndefined();
    },
  );

  it.each(['publishDate', 'episodeUrl', 'title'] as const)(
    'is none for an equal %s alone',
    (field) => {
      expect(matchRank(bare, other(pick(field)))).toBeUndefined();
    },
  );

  it.each(['publishDate', 'episodeUrl', 'title'] as const)(
    'is 4 for different episode_guids with equal enclosure_url and %s',
    (field) => expect(matchRank(one, other(pick('enclosureUrl', field)))).toBe(4),
  );

  it('is none for different episode_guids with only an equal enclosure_url', () => {
    expect(matchRank(one, other(pick('enclosureUrl')))).toBeUndefined();
  });

  it('ignores empty values', () => {
    const untitled = metadata(1, { episodeGuid: '', title: '' });
    expect(
      matchRank(untitled, other({ episodeGuid: '', title: '', ...pick('publishDate') })),
    ).toBeUndefined();
    expect(
      matchRank(metadata(1, { title: '' }), other({ title: '', ...pick('enclosureUrl') })),
    ).toBeUndefined();
  });

  it('ignores a publish_date of 1970', () => {
    const undated = { publishDate: unknownMetadata.publishDate };
    const lookup = metadata(1, { ...undated, episodeGuid: '' });
    expect(
      matchRank(lookup, other({ ...undated, ...pick('title'), episodeGuid: '' })),
    ).toBeUndefined();
    expect(matchRank(lookup, other({ ...undated, ...pick('episodeUrl') }))).toBeUndefined();
    expect(
      matchRank(metadata(1, undated), other({ ...undated, ...pick('enclosureUrl') })),
    ).toBeUndefined();
  });

  it('compares a title or episode_guid that reads like the unknown date', () => {
    const same = { title: unknownMetadata.publishDate };
    expect(
      matchRank(
        metadata(1, { ...same, episodeGuid: '' }),
        other({ ...same, ...pick('publishDate') }),
      ),
    ).toBe(3);
    const guid = { episodeGuid: unknownMetadata.publishDate };
    expect(matchRank(metadata(1, guid), other(guid))).toBe(1);
  });

  it('ignores unknown URLs', () => {
    const unknown = { enclosureUrl: '', episodeUrl: '' };
    const [bareOne, bareOther] = [
      metadata(1, { ...unknown, episodeGuid: '' }),
      other({ ...unknown, ...pick('publishDate') }),
    ];
    expect(matchRank(bareOne, { ...bareOther, episodeGuid: '' })).toBeUndefined();
    expect(matchRank(bareOne, { ...bareOther, ...pick('title') })).toBe(3);
    expect(
      matchRank(metadata(1, unknown), other({ ...unknown, ...pick('publishDate', 'title') })),
    ).toBeUndefined();
  });

  it('is symmetric', () => {
    fc.assert(
      fc.property(any, any, (a, b) => matchRank(a, b) === matchRank(b, a)),
      { numRuns: 1_000 },
    );
  });
});

describe('MatchIndex', () => {
  const place = (rows: (Identity & { id: number })[]) => {
    const index = new MatchIndex();
    for (const row of rows) index.add({ ...row, subscriptionId: 10 });
    return index;
  };

  it('returns the most certain match', () => {
    const candidates = [other(pick('enclosureUrl', 'title')), other(pick('episodeGuid'))];
    expect(place(candidates.map((row, n) => ({ ...row, id: n }))).find(10, one)).toEqual({
      id: 1,
      rank: 1,
    });
  });

  it('returns nothing without a match, and nothing of another subscription', () => {
    const index = place([{ ...other({}), id: 1 }]);
    expect([index.find(10, one), index.find(20, other({}))]).toEqual([undefined, undefined]);
  });

  it('finds the same match as bestMatch while rows are added, removed and changed', () => {
    const step = fc.record({
      id: fc.integer({ min: 1, max: 12 }),
      row: any,
      gone: fc.boolean(),
      lookup: any,
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const index = new MatchIndex();
        const rows = new Map<number, Identity & { id: number; subscriptionId: number }>();
        for (const { id, row, gone, lookup } of steps) {
          const before = rows.get(id);
          if (before) index.remove(before);
          rows.delete(id);
          const taken =
            row.episodeGuid !== '' &&
            [...rows.values()].some((r) => r.episodeGuid === row.episodeGuid);
          if (!gone && !taken) {
            rows.set(id, { ...row, id, subscriptionId: 10 });
            index.add({ ...row, id, subscriptionId: 10 });
          }
          const best = bestMatch(lookup, rows.values());
          expect(index.find(10, lookup)).toEqual(
            best && { id: best.id, rank: plainRank(lookup, best) },
          );
          const lacking = [...rows.values()].filter(
            (of) => of.episodeGuid === '' && of.enclosureUrl === lookup.enclosureUrl,
          );
          const ids =
            lookup.enclosureUrl === '' ? [] : lacking.map((of) => of.id).sort((a, b) => a - b);
          expect(index.findWithoutGuid(10, lookup.enclosureUrl)).toEqual(ids);
        }
      }),
      { numRuns: process.env.TEST_FULL ? 5_000 : 300 },
    );
  });
});
