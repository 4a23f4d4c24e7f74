import { describe, expect, it } from 'vitest';
import { guid, metadata, podcast, syncId } from '../testing/known.world.js';
import { judgeUpload } from './episode-entry.rule.js';

const at = '2026-02-01T12:00:00Z';
const good = { podcastGuid: podcast, syncId: syncId(1), ...metadata(1) };

/** The message for a good entry with something else in one place. */
function fault(differing: Record<string, unknown>): unknown {
  const judged = judgeUpload({ ...good, ...differing });
  return 'refuse' in judged ? 'accepted' : judged.message;
}

describe('judgeUpload', () => {
  it('takes identifiers, metadata, statuses and the temporary id', () => {
    const judged = judgeUpload({
      ...good,
      ...{ podcastGuid: podcast.toUpperCase(), publishDate: '2025-01-01T02:00:00.1239+02:00', temporaryId: 7 },
      playbackPosition: { value: 12.5, timestamp: '2026-02-01T12:00' },
      playedStatus: { value: false, timestamp: at },
    });
    expect(judged).toMatchObject({
      podcastGuid: podcast,
      syncId: syncId(1),
      metadata: { ...metadata(1), publishDate: '2025-01-01T00:00:00.123Z' },
      statuses: {
        playbackPosition: { value: 12.5, at: '2026-02-01T12:00:00.000000Z', minuteForm: true },
        playedStatus: { value: false, at: '2026-02-01T12:00:00.000000Z', minuteForm: false },
      },
      temporaryId: 7,
    });
    expect(Object.keys((judged as { statuses: object }).statuses)).toEqual(['playbackPosition', 'playedStatus']);
  });

  it('takes an entry that names nothing but podcast and sync_id', () => {
    expect(judgeUpload({ podcastGuid: podcast, syncId: syncId(1) })).toMatchObject({ metadata: {}, statuses: {} });
  });

  it.each([{ episodeGuid: '' }, { title: '' }, { episodeGuid: '€'.repeat(2_048) }, { title: '😀'.repeat(4_096) }])(
    'takes an empty episode_guid or title, and both up to their limits',
    (differing) => expect(fault(differing)).toBe('accepted'),
  );

  it.each([0, -0, 1e308, 0.1])('takes any number of seconds from 0: %d', (value) => {
    const judged = judgeUpload({ ...good, playbackPosition: { value, timestamp: at } });
    expect(judged).toMatchObject({ statuses: { playbackPosition: { value: value + 0 } } });
  });

  it.each([
    [{ podcastGuid: undefined }, 'podcast_guid is missing'],
    [{ podcastGuid: null }, 'podcast_guid is not a valid UUID'],
    [{ podcastGuid: 'x' }, 'podcast_guid is not a valid UUID'],
    [{ syncId: 'x' }, 'sync_id is not a valid UUID'],
    [{ syncId: null }, 'sync_id is not a valid UUID'],
    [{ episodeGuid: 5 }, 'episode_guid is not a string'],
    [{ episodeGuid: 'x\0' }, 'episode_guid contains a NUL character'],
    [{ episodeGuid: '\ud800' }, 'episode_guid is not valid Unicode'],
    [{ episodeGuid: 'x'.repeat(2_049) }, 'episode_guid is longer than 2048 characters'],
    [{ title: null }, 'title is not a string'],
    [{ title: 'x\0' }, 'title contains a NUL character'],
    [{ title: 'x'.repeat(4_097) }, 'title is longer than 4096 characters'],
    [{ publishDate: 1 }, 'publish_date is not a date and time (RFC 3339)'],
    [{ publishDate: '2025-01-01T00:00' }, 'publish_date is not a date and time (RFC 3339)'],
    [{ publishDate: '2025-02-29T00:00:00Z' }, 'publish_date is not a date and time (RFC 3339)'],
    [{ enclosureUrl: {} }, 'enclosure_url is not a string'],
    [{ enclosureUrl: 'media.example/1.mp3' }, 'enclosure_url: No protocol present'],
    [{ enclosureUrl: '' }, 'enclosure_url: No protocol present'],
    [{ episodeUrl: 'ftp://podcast.example/1' }, 'episode_url: The URL is neither http nor https'],
    [{ episodeUrl: `https://e.example/${'x'.repeat(4_079)}` }, 'episode_url: The URL is longer than 4096 characters'],
    [{ playbackPosition: 5 }, 'playback_position is not an object with value and timestamp'],
    [{ playbackPosition: null }, 'playback_position is not an object with value and timestamp'],
    [
      { playbackPosition: { value: -1, timestamp: at } },
      'playback_position: the value is not a number of seconds, 0 or more',
    ],
    [
      { playbackPosition: { value: '1', timestamp: at } },
      'playback_position: the value is not a number of seconds, 0 or more',
    ],
    [
      { playbackPosition: { value: Infinity, timestamp: at } },
      'playback_position: the value is not a number of seconds, 0 or more',
    ],
    [{ playedStatus: { value: 1, timestamp: at } }, 'played_status: the value is not a boolean'],
    [{ newStatus: { timestamp: at } }, 'new_status: the value is not a boolean'],
    [{ downloadStatus: { value: null, timestamp: at } }, 'download_status: the value is not a boolean'],
    [
      { favoriteStatus: { value: true } },
      'favorite_status: the timestamp is not a date and time (RFC 3339 or YYYY-MM-DDThh:mm)',
    ],
    [
      { playedStatus: { value: true, timestamp: 1 } },
      'played_status: the timestamp is not a date and time (RFC 3339 or YYYY-MM-DDThh:mm)',
    ],
    [{ temporaryId: {} }, 'temporary_id is neither a string nor a number'],
  ] as [Record<string, unknown>, string][])('refuses %j: %s', (differing, message) => {
    expect(fault(differing)).toBe(message);
  });

  it('echoes with a fault what identifies the entry, exactly as it was sent', () => {
    const sent = { podcastGuid: 'NO GUID', syncId: guid('A'), episodeGuid: 'x\0', temporaryId: 'mine' };
    expect(judgeUpload({ ...sent, title: 'not echoed' })).toEqual({
      ...{ podcast_guid: 'NO GUID', sync_id: guid('A'), episode_guid: 'x\0', temporary_id: 'mine' },
      message: 'podcast_guid is not a valid UUID',
    });
  });

  it('leaves out of the echo what could not be an identifier', () => {
    expect(judgeUpload({ podcastGuid: 1, syncId: null, episodeGuid: {}, temporaryId: [] })).toEqual({
      message: 'temporary_id is neither a string nor a number',
    });
  });

  it('refuses what is no object', () => {
    expect(judgeUpload(null)).toEqual({ message: 'An entry must be an object' });
  });
});
