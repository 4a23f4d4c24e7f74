import { describe, expect, it } from 'vitest';
import { unknownMetadata } from '#contracts';
import { describeRows } from './describe.rules.js';
import type { EpisodeRow } from './episode.rules.js';

const row = (fields: Partial<EpisodeRow>): EpisodeRow => ({
  ...unknownMetadata,
  id: 1,
  subscriptionId: 7,
  syncId: '0d3b5a52-6a3e-4a0c-9a9e-6c1d7c6c2c11',
  changed: '2026-01-01T00:00:00.000Z',
  statuses: { playedStatus: { value: true, at: '2026-01-01T00:00:00.000000Z', minuteForm: false } },
  ...fields,
});
const item = {
  episode_guid: 'one',
  title: 'One',
  publish_date: '2026-01-01T00:00:00.000Z',
  enclosure_url: 'https://a.example/1.mp3',
  episode_url: 'https://a.example/1',
  duration: 60,
};

describe('the episodes of a feed', () => {
  it.each([
    ['the guid', row({ episodeGuid: 'one' })],
    ['an equal enclosure, without a guid', row({ enclosureUrl: 'HTTPS://a.example:443/1.mp3' })],
  ])('describe the row with %s, and keep its identity and statuses', (_, before) => {
    expect(describeRows([before], [{ title: 'None' }, item])).toEqual([
      {
        ...before,
        title: 'One',
        publishDate: '2026-01-01T00:00:00.000Z',
        episodeUrl: 'https://a.example/1',
        duration: 60,
      },
    ]);
  });

  it('leave known values as they are', () => {
    const before = row({ episodeGuid: 'one', duration: 61, episodeUrl: 'https://b.example/' });
    expect(describeRows([before], [item])).toMatchObject([
      { duration: 61, episodeUrl: 'https://b.example/', title: 'One' },
    ]);
  });

  it.each([
    [
      'another guid with the same enclosure',
      { episodeGuid: 'x', enclosureUrl: item.enclosure_url },
    ],
    ['another guid', { episodeGuid: 'two' }],
    ['another enclosure', { enclosureUrl: 'https://a.example/2.mp3' }],
  ])('do not describe a row with %s', (_, fields) => {
    expect(describeRows([row(fields)], [item])).toEqual([]);
  });

  it('fill in nothing if they have no title themselves', () => {
    expect(describeRows([row({ episodeGuid: 'one' })], [{ ...item, title: undefined }])).toEqual(
      [],
    );
  });
});
