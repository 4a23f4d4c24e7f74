import { describe, expect, it } from 'vitest';
import type { Episode } from '#client';
import {
  applyPendingChanges,
  dateOfChange,
  episodesOfPodcast,
  filterOfQuery,
  historyMatcher,
  lastChangeOf,
  lastChangesByPodcast,
  matchesStatusFilter,
  pageUrlOf,
  pathOfFilter,
  progressOf,
  publishDateOf,
  timeOfChange,
  withStatuses,
} from './episode.rules.js';

const row = (fields: Partial<Episode>): Episode => ({
  podcast_guid: 'p',
  sync_id: 's',
  episode_guid: '',
  title: '',
  publish_date: '1970-01-01T00:00:00.000Z',
  enclosure_url: '',
  episode_url: '',
  ...fields,
});
const at = <Value>(value: Value, timestamp = '2026-01-01T10:00') => ({ value, timestamp });

describe('withStatuses', () => {
  it.each([
    ['guid', { episode_guid: 'a' }, { episode_guid: 'a' }, true],
    ['URL', { enclosure_url: 'u' }, { episode_guid: 'a', enclosure_url: 'u' }, true],
    [
      'guid of another podcast',
      { podcast_guid: 'q', episode_guid: 'a' },
      { episode_guid: 'a' },
      false,
    ],
    ['no name', { title: 'A' }, { title: 'A' }, false],
  ])('matches by %s', (_, ofRow, ofFeed, isMatch) => {
    const history = [row({ ...ofRow, played_status: at(true) })];
    const [episode = { podcast_guid: '' }] = withStatuses(
      [{ podcast_guid: 'p', ...ofFeed }],
      history,
    );
    expect(episode.played_status?.value).toBe(isMatch ? true : undefined);
  });

  it('prefers the texts of the feed', () => {
    const ofFeed = {
      podcast_guid: 'p',
      episode_guid: 'a',
      title: 'New',
      publish_date: '2026-01-01',
    };
    expect(withStatuses([ofFeed], [row({ episode_guid: 'a', title: 'Old' })])).toMatchObject([
      ofFeed,
    ]);
  });
});

it('episodesOfPodcast returns each episode of feed and history once', () => {
  const history = [row({ sync_id: '1', episode_guid: 'a' }), row({ sync_id: '2', title: 'Gone' })];
  const found = episodesOfPodcast([{ podcast_guid: 'p', episode_guid: 'a' }], history);
  expect(found.map(({ sync_id }) => sync_id)).toEqual(['1', '2']);
});

it.each([
  [{}, 'new'],
  [{ playback_position: at(0) }, 'new'],
  [{ playback_position: at(3), played_status: at(false) }, 'started'],
  [{ playback_position: at(3), played_status: at(true) }, 'played'],
])('progressOf of %j is %s', (statuses, progress) => expect(progressOf(statuses)).toBe(progress));

it('publishedAt is undefined for an unknown date', () => {
  expect(publishDateOf(row({}))).toBeUndefined();
  expect(publishDateOf({ podcast_guid: 'p' })).toBeUndefined();
  expect(publishDateOf(row({ publish_date: '2026-01-01T00:00:00.000Z' }))?.getUTCFullYear()).toBe(
    2026,
  );
});

it('the latest change of a podcast is that of any status of any episode', () => {
  const first = row({ new_status: at(true, '2026-01-02T00:00'), favorite_status: at(true) });
  const history = [first, row({ played_status: at(true) }), row({ podcast_guid: 'q' })];
  expect([...lastChangesByPodcast(history)]).toEqual([['p', '2026-01-02T00:00']]);
  expect(dateOfChange(lastChangeOf(first))).toEqual(new Date('2026-01-02T00:00Z'));
  expect(dateOfChange(lastChangeOf(row({})))).toBeUndefined();
});

it('changedAt ignores downloads', () => {
  const downloaded = row({ download_status: at(true, '2026-01-02T00:00') });
  expect(lastChangeOf(downloaded)).toBe('');
  expect(lastChangeOf({ ...downloaded, played_status: at(true) })).toBe('2026-01-01T10:00');
});

it.each([
  [{}, 'all', true],
  [{}, 'favorite', false],
  [{ favorite_status: at(false) }, 'favorite', false],
  [{ favorite_status: at(true) }, 'favorite', true],
  [{ playback_position: at(3) }, 'started', true],
  [{ playback_position: at(3) }, 'played', false],
] as const)('isShown of %j in "%s" is %s', (statuses, shown, expected) =>
  expect(matchesStatusFilter(statuses, shown)).toBe(expected),
);

describe('the filter of the history', () => {
  const all = filterOfQuery({});

  it.each([
    [all, '/console/history'],
    [{ ...all, show: 'played' }, '/console/history?show=played'],
    [
      { show: 'favorite', podcast: 'p', search: 'a b&c ' },
      '/console/history?show=favorite&podcast=p&search=a+b%26c+',
    ],
  ] as const)('is in the URL: %j', (filter, path) => {
    expect(pathOfFilter(filter)).toBe(path);
    const { searchParams } = new URL(path, 'https://console.example');
    expect(filterOfQuery(Object.fromEntries(searchParams))).toEqual(filter);
  });

  it.each(['new', 'nothing'])('shows all episodes for the invalid state "%s"', (show) =>
    expect(filterOfQuery({ show })).toEqual(all),
  );

  it.each([
    ['a status', {}, true],
    ['the podcast', { podcast: 'p' }, true],
    ['another podcast', { podcast: 'q' }, false],
    ['a title without its case and accents', { search: ' UBER cafe' }, true],
    ['another title', { search: 'tea' }, false],
    ['another status', { show: 'played' }, false],
  ] as const)('compares %s', (_, filter, expected) => {
    const episode = row({ title: 'Über Café', playback_position: at(3) });
    expect(historyMatcher({ ...all, ...filter })(episode)).toBe(expected);
  });

  it('omits episodes that an app only downloaded', () =>
    expect(historyMatcher(all)(row({ download_status: at(true) }))).toBe(false));
});

it('withChanges applies changes in their order, and keeps the current guid of the podcast', () => {
  const rows = [row({ sync_id: '1', title: 'One' }), row({ sync_id: '2' })];
  const change = { podcast_guid: 'former', sync_id: '1' };
  const changed = applyPendingChanges(rows, [
    { ...change, played_status: at(true), favorite_status: at(true) },
    { ...change, played_status: at(false) },
  ]);
  expect(changed).toEqual([
    { ...rows[0], played_status: at(false), favorite_status: at(true) },
    rows[1],
  ]);
});

it.each([
  ['the time of the action', '2026-01-01T10:00:00.000Z', '2026-01-01T09:00', '10:00:30.000'],
  ['later than the lists', '2026-01-01T10:01:00.000Z', '2026-01-01T09:00', '10:01:00.001'],
  [
    'later than a status in the future',
    '2026-01-01T10:00:00.000Z',
    '2026-01-01T10:02',
    '10:03:00.000',
  ],
])('timeOfChange is %s', (_, since, shown, expected) => {
  const time = timeOfChange(Date.parse('2026-01-01T10:00:30Z'), since, {
    played_status: at(true, shown),
  });
  expect(new Date(time).toISOString()).toBe(`2026-01-01T${expected}Z`);
});

it.each([
  ['https://a.example/1', 'https://b.example/1.mp3', 'https://a.example/1'],
  ['', 'https://b.example/1 1.mp3', 'https://b.example/1 1.mp3'],
  ['javascript:alert(1)', 'file:///etc/passwd', undefined],
])('pageOf prefers the page: %j, %j', (episode_url, enclosure_url, expected) =>
  expect(pageUrlOf(row({ episode_url, enclosure_url }))).toBe(expected),
);
