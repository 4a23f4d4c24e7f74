import { describe, expect, it } from 'vitest';
import type { Episode } from '#client';
import {
  changedAt,
  changesOfPodcasts,
  dateOfChange,
  episodesOfPodcast,
  progressOf,
  publishedAt,
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
  expect(publishedAt(row({}))).toBeUndefined();
  expect(publishedAt({ podcast_guid: 'p' })).toBeUndefined();
  expect(publishedAt(row({ publish_date: '2026-01-01T00:00:00.000Z' }))?.getUTCFullYear()).toBe(
    2026,
  );
});

it('the latest change of a podcast is that of any status of any episode', () => {
  const first = row({ new_status: at(true, '2026-01-02T00:00'), favorite_status: at(true) });
  const history = [first, row({ played_status: at(true) }), row({ podcast_guid: 'q' })];
  expect([...changesOfPodcasts(history)]).toEqual([['p', '2026-01-02T00:00']]);
  expect(dateOfChange(changedAt(first))).toEqual(new Date('2026-01-02T00:00Z'));
  expect(dateOfChange(changedAt(row({})))).toBeUndefined();
});
