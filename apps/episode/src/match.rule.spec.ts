import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { metadata } from '../testing/known.world.js';
import type { Metadata } from './episode-entry.rule.js';
import { bestMatch, matchRank } from './match.rule.js';

/** Another episode, apart from what is said. */
const other = (same: Partial<Metadata>) => metadata(2, same);
const one = metadata(1);
const bare = metadata(1, { episodeGuid: '' });
const pick = (...fields: (keyof Metadata)[]) => Object.fromEntries(fields.map((field) => [field, one[field]]));

describe('matchRank', () => {
  it('is 1 for the same episode_guid, whatever else differs', () => {
    expect(matchRank(one, other(pick('episodeGuid')))).toBe(1);
  });

  it.each([
    ['either', bare, other(pick('enclosureUrl'))],
    ['the other', one, other({ ...pick('enclosureUrl'), episodeGuid: '' })],
    ['neither', bare, other({ ...pick('enclosureUrl'), episodeGuid: '' })],
  ])('is 2 for the same enclosure_url where %s has no episode_guid', (_, a, b) => {
    expect(matchRank(a, b)).toBe(2);
  });

  it.each([
    [['publishDate', 'episodeUrl']],
    [['publishDate', 'title']],
    [['episodeUrl', 'title']],
    [['publishDate', 'episodeUrl', 'title']],
  ] as (keyof Metadata)[][][])('is 3 for two of publish_date, episode_url and title: %j', (fields) => {
    expect(matchRank(bare, other(pick(...fields)))).toBe(3);
    expect(matchRank(one, other({ ...pick(...fields), episodeGuid: '' }))).toBe(3);
    expect(matchRank(one, other(pick(...fields)))).toBeUndefined();
  });

  it.each(['publishDate', 'episodeUrl', 'title'] as const)('is none for %s alone', (field) => {
    expect(matchRank(bare, other(pick(field)))).toBeUndefined();
  });

  it.each(['publishDate', 'episodeUrl', 'title'] as const)(
    'is 4 for two episode_guids that differ when enclosure_url and %s agree',
    (field) => expect(matchRank(one, other(pick('enclosureUrl', field)))).toBe(4),
  );

  it('is none for two episode_guids that differ and only the same enclosure_url', () => {
    expect(matchRank(one, other(pick('enclosureUrl')))).toBeUndefined();
  });

  it('takes empty values as agreeing with nothing', () => {
    const untitled = metadata(1, { episodeGuid: '', title: '' });
    expect(matchRank(untitled, other({ episodeGuid: '', title: '', ...pick('publishDate') }))).toBeUndefined();
    expect(matchRank(metadata(1, { title: '' }), other({ title: '', ...pick('enclosureUrl') }))).toBeUndefined();
  });

  it('takes URLs that are not known as agreeing with nothing', () => {
    const unknown = { enclosureUrl: '', episodeUrl: '' };
    const [bareOne, bareOther] = [
      metadata(1, { ...unknown, episodeGuid: '' }),
      other({ ...unknown, ...pick('publishDate') }),
    ];
    expect(matchRank(bareOne, { ...bareOther, episodeGuid: '' })).toBeUndefined();
    expect(matchRank(bareOne, { ...bareOther, ...pick('title') })).toBe(3);
    expect(matchRank(metadata(1, unknown), other({ ...unknown, ...pick('publishDate', 'title') }))).toBeUndefined();
  });

  it('is the same from both sides', () => {
    const field = <Value>(...values: Value[]) => fc.constantFrom(...values);
    const any = fc.record({
      episodeGuid: field('', 'g', 'h'),
      title: field('', 't', 'u'),
      publishDate: field('2025-01-01T00:00:00.000Z', '2025-01-02T00:00:00.000Z'),
      enclosureUrl: field('', 'https://e.example/1', 'https://e.example/2'),
      episodeUrl: field('', 'https://p.example/1', 'https://p.example/2'),
    });
    fc.assert(fc.property(any, any, (a, b) => matchRank(a, b) === matchRank(b, a)));
  });
});

describe('bestMatch', () => {
  it('is the surest candidate', () => {
    const candidates = [other(pick('enclosureUrl', 'title')), other(pick('episodeGuid'))];
    expect(bestMatch(one, candidates)).toBe(candidates[1]);
  });

  it('is the first of equally sure ones, which has the lowest row id', () => {
    const candidates = [other(pick('enclosureUrl')), metadata(3, pick('enclosureUrl'))];
    expect(bestMatch(bare, candidates)).toBe(candidates[0]);
  });

  it('is none when nothing agrees', () => {
    expect(bestMatch(one, [other({}), metadata(3)])).toBeUndefined();
  });
});
