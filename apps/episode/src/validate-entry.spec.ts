import { describe, expect, it } from 'vitest';
import { guid, metadata, podcast, syncId } from '../testing/episode-set.fixture.js';
import { type Entry, sentEntry } from '../testing/sent-entry.js';
import { validateEntry } from './upload.rules.js';

const at = '2026-02-01T12:00:00Z';
const validate = (entry: Entry | null) => validateEntry(sentEntry(entry));
const good = { podcastGuid: podcast, syncId: syncId(1), ...metadata(1) };

function fault(differing: Record<string, unknown>): unknown {
  const judged = validate({ ...good, ...differing });
  return 'rawEntry' in judged ? 'accepted' : judged.message;
}

describe('validateEntry', () => {
  it('accepts identifiers, metadata, statuses and the temporary_id', () => {
    const judged = validate({
      ...good,
      podcastGuid: podcast.toUpperCase(),
      syncId: syncId(1).toUpperCase(),
      publishDate: '2025-01-01T02:00:00.1239+02:00',
      temporaryId: 7,
      playbackPosition: { value: 12.5, timestamp: '2026-02-01T12:00' },
      playedStatus: { value: false, timestamp: at },
    });
    expect(judged).toMatchObject({
      podcast,
      syncId: syncId(1),
      metadata: { ...metadata(1), publishDate: '2025-01-01T00:00:00.123Z' },
      statuses: {
        playbackPosition: { value: 12.5, at: '2026-02-01T12:00:00.000000Z', minuteForm: true },
        playedStatus: { value: false, at: '2026-02-01T12:00:00.000000Z', minuteForm: false },
      },
      temporaryId: 7,
    });
    expect(Object.keys((judged as { statuses: object }).statuses)).toEqual([
      'playbackPosition',
      'playedStatus',
    ]);
  });

  it('accepts an entry with only podcast_guid and sync_id', () => {
    expect(validate({ podcastGuid: podcast, syncId: syncId(1) })).toMatchObject({
      metadata: {},
      statuses: {},
    });
  });

  const kept = (differing: Record<string, unknown>) =>
    (validate({ ...good, ...differing }) as { metadata: object }).metadata;

  it.each([{ episodeGuid: '😀'.repeat(512) }, { temporaryId: 'ä'.repeat(127) }])(
    'accepts texts up to their limits in bytes: %#',
    (differing) => expect(fault(differing)).toBe('accepted'),
  );

  it.each(['', 'a', 0, 1.5])('keeps any text or number as temporary_id: %j', (temporaryId) =>
    expect(validate({ ...good, temporaryId })).toMatchObject({ temporaryId }),
  );

  it.each([
    '\u0001',
    'a\tb\nc',
    '\u202e',
    '\ufffe',
    '1970-01-01T00:00:00.000Z',
    ' '.repeat(3) + 'x',
  ])('rejects only NUL, lone surrogates and length of an episode_guid: %j', (episodeGuid) =>
    expect(kept({ episodeGuid })).toMatchObject({ episodeGuid: episodeGuid.trim() }),
  );

  it.each([
    ['episodeGuid', ''],
    ['episodeGuid', ' \n'],
    ['title', ''],
    ['title', '\0 '],
    ['enclosureUrl', ''],
    ['enclosureUrl', ' \t'],
    ['publishDate', '1970-01-01T00:00:00Z'],
    ['publishDate', '1970-01-01T02:00:00.0004+02:00'],
  ])('treats unknown values as not sent: %s %j', (field, value) =>
    expect(kept({ [field]: value })).not.toHaveProperty(field),
  );

  it('accepts any other date, even a millisecond after 1970', () => {
    expect(kept({ publishDate: '1970-01-01T00:00:00.001Z' })).toMatchObject({
      publishDate: '1970-01-01T00:00:00.001Z',
    });
  });

  it.each([
    ['title', 5],
    ['title', null],
    ['title', []],
    ['publishDate', 1],
    ['publishDate', 'x'],
    ['publishDate', '2025-01-01T00:00'],
    ['publishDate', '2025-02-29T00:00:00Z'],
    ['duration', 0],
    ['duration', -1],
    ['duration', '90'],
    ['duration', Infinity],
    ['duration', NaN],
    ['duration', true],
    ['duration', []],
  ])('treats unusable descriptive fields as not sent: %s %j', (field, value) => {
    expect(kept({ [field]: value })).not.toHaveProperty(field);
  });

  it.each([0.001, 1, 90.5, 1e300])(
    'accepts any number above 0 as a duration in seconds: %d',
    (duration) => expect(kept({ duration })).toMatchObject({ duration }),
  );

  it('trims texts and cuts a title at its limit', () => {
    const sent = {
      episodeGuid: ' a\tb\u0007 ',
      title: `\n${'ä'.repeat(1_025)}`,
      enclosureUrl: ' https://e.example/a b\n',
    };
    expect(kept({ ...sent, episodeUrl: '\thttps://p.example/a b ' })).toMatchObject({
      episodeGuid: 'a\tb\u0007',
      title: 'ä'.repeat(1_024),
      enclosureUrl: 'https://e.example/a b',
      episodeUrl: 'https://p.example/a b',
    });
  });

  it('replaces control characters and lone surrogates of a title with spaces', () => {
    expect(kept({ title: 'a\0b\nc\ud800d' })).toMatchObject({ title: 'a b c d' });
  });

  it.each([
    5,
    null,
    {},
    '',
    ' ',
    'ftp://p.example/1',
    'p.example',
    'https://p.example/\n1',
    'https://p.example/\ud800',
  ])('treats an unusable episode_url as not sent: %j', (episodeUrl) =>
    expect(kept({ episodeUrl })).not.toHaveProperty('episodeUrl'),
  );

  it('treats an episode_url above its limit as not sent', () => {
    expect(kept({ episodeUrl: `https://p.example/${'ä'.repeat(2_040)}` })).not.toHaveProperty(
      'episodeUrl',
    );
  });

  it.each([0, -0, 1e308, 0.1])('accepts any number of seconds from 0: %d', (value) => {
    const judged = validate({ ...good, playbackPosition: { value, timestamp: at } });
    expect(judged).toMatchObject({ statuses: { playbackPosition: { value: value + 0 } } });
  });

  it.each([
    [{ podcastGuid: undefined }, 'podcast_guid is missing'],
    [{ podcastGuid: null }, 'podcast_guid is missing'],
    [{ podcastGuid: 'x' }, 'podcast_guid is not a valid UUID'],
    [{ syncId: 'x' }, 'sync_id is not a valid UUID'],
    [{ episodeGuid: 5 }, 'episode_guid is not a string'],
    [{ episodeGuid: 'x\0' }, 'episode_guid contains a NUL character'],
    [{ episodeGuid: '\ud800' }, 'episode_guid is not valid Unicode'],
    [{ episodeGuid: 'ä'.repeat(1_025) }, 'episode_guid is longer than 2048 bytes'],
    [{ enclosureUrl: {} }, 'enclosure_url is not a string'],
    [{ enclosureUrl: 'media.example/1.mp3' }, 'enclosure_url: No protocol present'],
    [{ enclosureUrl: 'ftp://e.example/1' }, 'enclosure_url: The URL is neither http nor https'],
    [
      { enclosureUrl: 'https://e.example/\t1' },
      'enclosure_url: The URL contains a control character',
    ],
    [{ enclosureUrl: 'https://e.example/\ud800' }, 'enclosure_url: The URL is not valid Unicode'],
    [
      { enclosureUrl: `https://e.example/${'ä'.repeat(2_040)}` },
      'enclosure_url: The URL is longer than 4096 bytes',
    ],
    [{ playbackPosition: 5 }, 'playback_position is not an object with value and timestamp'],
    [{ playedStatus: [] }, 'played_status is not an object with value and timestamp'],
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
    [{ newStatus: { value: {}, timestamp: at } }, 'new_status: the value is not a boolean'],
    [
      { favoriteStatus: { value: true } },
      'favorite_status: the timestamp is not a date and time (RFC 3339 or YYYY-MM-DDThh:mm)',
    ],
    [
      { playedStatus: { value: true, timestamp: 1 } },
      'played_status: the timestamp is not a date and time (RFC 3339 or YYYY-MM-DDThh:mm)',
    ],
    [{ temporaryId: Infinity }, 'temporary_id is neither a string nor a number'],
    [{ temporaryId: {} }, 'temporary_id is neither a string nor a number'],
    [{ temporaryId: 'ä'.repeat(128) }, 'temporary_id is longer than 255 bytes'],
  ] as [Record<string, unknown>, string][])('rejects %j: %s', (differing, message) => {
    expect(fault(differing)).toBe(message);
  });

  it.each([
    [{ podcastGuid: undefined }, 'missing_identifier'],
    [{ podcastGuid: 'x' }, 'invalid_guid'],
    [{ syncId: 5 }, 'invalid_guid'],
    [{ enclosureUrl: 'x' }, 'invalid_url'],
    [{ enclosureUrl: 5 }, 'invalid_value'],
    [{ episodeGuid: '\0' }, 'invalid_value'],
    [{ playedStatus: true }, 'invalid_value'],
    [{ temporaryId: [] }, 'invalid_value'],
  ] as [Record<string, unknown>, string][])(
    'returns a code for each fault: %j %s',
    (differing, code) => {
      expect(validate({ ...good, ...differing })).toMatchObject({ code });
    },
  );

  it('omits identifiers above their limits from the failure', () => {
    const long = {
      podcastGuid: 'x'.repeat(256),
      syncId: 'x'.repeat(256),
      episodeGuid: 'x'.repeat(2_049),
    };
    const longer = { enclosureUrl: 'x'.repeat(4_097), temporaryId: 'x'.repeat(256) };
    expect(validate({ ...long, ...longer })).toEqual({
      code: 'invalid_value',
      message: 'temporary_id is longer than 255 bytes',
    });
  });

  it('returns a failure with the identifiers exactly as they were sent', () => {
    const sent = {
      podcastGuid: 'NO GUID',
      syncId: guid('A'),
      episodeGuid: 'x\0',
      enclosureUrl: ' \n',
      temporaryId: 'mine',
    };
    expect(validate({ ...sent, title: 'not echoed' })).toEqual({
      podcast_guid: 'NO GUID',
      sync_id: guid('A'),
      episode_guid: 'x\0',
      enclosure_url: ' \n',
      temporary_id: 'mine',
      code: 'invalid_guid',
      message: 'podcast_guid is not a valid UUID',
    });
  });

  it('omits values that cannot be identifiers from the failure', () => {
    expect(validate({ podcastGuid: 1, syncId: null, episodeGuid: {}, temporaryId: [] })).toEqual({
      code: 'invalid_value',
      message: 'temporary_id is neither a string nor a number',
    });
  });

  it.each([0, null, 'x', true, []])('rejects values other than objects: %j', (sent) => {
    expect(validateEntry(sent)).toEqual({
      code: 'invalid_value',
      message: 'An entry must be an object',
    });
  });

  it('treats null and a status without a value as not sent', () => {
    const statuses = {
      playedStatus: null,
      newStatus: { value: null, timestamp: 'x' },
      downloadStatus: { timestamp: at },
    };
    const judged = validate({
      ...good,
      ...statuses,
      syncId: null,
      episodeGuid: null,
      temporaryId: null,
    });
    expect(judged).toMatchObject({
      podcast,
      syncId: undefined,
      temporaryId: undefined,
      statuses: {},
    });
    expect((judged as { metadata: object }).metadata).not.toHaveProperty('episodeGuid');
  });
});
