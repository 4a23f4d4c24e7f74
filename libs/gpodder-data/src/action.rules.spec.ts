import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { uploadActions } from '#contracts';
import { type ActionEntry, parseAction } from './action.rules.js';

const at = '2024-03-01T12:00:05.000000Z';
const required = {
  podcast: 'https://a.example/f',
  episode: 'https://a.example/1.mp3',
  timestamp: '2024-03-01T12:00:05',
};
/** Returns the values that an action sets, by name. */
const valuesOf = (action: object) => {
  const { statuses, duration } = parseAction({ ...required, ...action }).entry as ActionEntry;
  const values = Object.entries(statuses).map(([name, status]) => [name, status?.value]);
  return { ...Object.fromEntries(values), ...(duration === undefined ? {} : { duration }) };
};

const played = { playedStatus: true, newStatus: false, playbackPosition: 0 };
const started = { newStatus: false };

describe('parseAction returns the values of an action', () => {
  it.each([
    [
      'AntennaPod: stopped',
      { action: 'play', started: 0, position: 60, total: 600 },
      { ...started, playbackPosition: 60, duration: 600 },
    ],
    [
      'AntennaPod: played',
      { action: 'play', started: 600, position: 600, total: 600 },
      { ...played, duration: 600 },
    ],
    [
      'AntennaPod: unknown position and length',
      { action: 'play', started: -1, position: -1, total: -1 },
      started,
    ],
    ['AntennaPod: marked as unplayed', { action: 'new' }, { newStatus: true, playedStatus: false }],
    ['AntennaPod: downloaded', { action: 'download' }, { downloadStatus: true }],
    ['AntennaPod: deleted', { action: 'delete' }, { downloadStatus: false }],
    [
      'Kasts: position in an unknown length',
      { action: 'play', started: 0, position: 60, total: 1 },
      { ...started, playbackPosition: 60 },
    ],
    [
      'Kasts: played to an unknown length',
      { action: 'play', started: 1, position: 1, total: 1 },
      played,
    ],
    [
      'Kasts: one second beyond the end',
      { action: 'play', started: 0, position: 601, total: 600 },
      { ...played, duration: 600 },
    ],
    [
      'no client: far beyond the end',
      { action: 'play', position: 1_200, total: 600 },
      { ...started, playbackPosition: 1_200 },
    ],
    [
      'no client: beyond a length of 2',
      { action: 'play', position: 60, total: 2 },
      { ...started, playbackPosition: 60 },
    ],
    ['gPodder: started', { action: 'play' }, started],
    [
      'gPodder: position without a length',
      { action: 'play', position: 60 },
      { ...started, playbackPosition: 60 },
    ],
    [
      'Cardo: upper case',
      { action: 'PLAY', started: 0, position: 60, total: 600 },
      { ...started, playbackPosition: 60, duration: 600 },
    ],
    [
      'GNOME Podcasts: an unknown length, sent as the position',
      { action: 'play', started: 0, position: 60, total: 60 },
      { ...played, duration: 60 },
    ],
    [
      'Music Assistant: started again',
      { action: 'play', position: 0, total: 600 },
      { ...started, playbackPosition: 0, duration: 600 },
    ],
    [
      'no client: a length of 0',
      { action: 'play', position: 0, total: 0 },
      { ...started, playbackPosition: 0 },
    ],
    [
      'old gPodder: a position as hours, minutes and seconds',
      { action: 'play', position: '00:01:00', total: '600' },
      { ...started, playbackPosition: 60, duration: 600 },
    ],
  ])('%s', (_, action, values) => expect(valuesOf(action)).toEqual(values));

  it('each with the time of the action, or without one', () => {
    expect(parseAction({ ...required, action: 'new' }).entry?.statuses).toEqual({
      newStatus: { value: true, at },
      playedStatus: { value: false, at },
    });
    expect(
      parseAction({ ...required, action: 'new', timestamp: null }).entry?.statuses.newStatus,
    ).toEqual({ value: true });
  });
});

describe('parseAction identifies the episode', () => {
  it('by feed URL, guid and enclosure URL, repaired', () => {
    const read = parseAction({
      podcast: ' a.example/f',
      episode: 'https://a.example/1.mp3 ',
      guid: 'g',
      action: 'download',
      device: 'd',
    });
    expect(read).toEqual({
      podcast: ' a.example/f',
      episode: 'https://a.example/1.mp3 ',
      feedUrl: 'http://a.example/f',
      enclosureUrl: 'https://a.example/1.mp3',
      device: 'd',
      entry: {
        feedUrl: 'http://a.example/f',
        episodeGuid: 'g',
        enclosureUrl: 'https://a.example/1.mp3',
        statuses: { downloadStatus: { value: true } },
      },
    });
  });

  it.each([
    ['an empty enclosure URL', ''],
    ['an invalid enclosure URL', 'content://x/1'],
  ])('by guid alone with %s (GNOME Podcasts)', (_, episode) => {
    const { entry } = parseAction({ ...required, episode, guid: 'g', action: 'new' });
    expect(entry).toMatchObject({ episodeGuid: 'g' });
    expect(entry).not.toHaveProperty('enclosureUrl');
  });

  it('and omits an invalid device id', () => {
    const read = parseAction({ ...required, device: 'no such device!', action: 'new' });
    expect(read.device).toBeUndefined();
    expect(read.entry).toBeDefined();
  });
});

describe('parseAction skips an invalid action', () => {
  it.each([
    ['not_an_object', null],
    ['not_an_object', 'x'],
    ['not_an_object', []],
    ['missing_key', {}],
    ['missing_key', { ...required }],
    ['missing_key', { ...required, action: 1 }],
    ['missing_key', { ...required, action: 'play', podcast: null }],
    ['missing_key', { podcast: required.podcast, action: 'play', guid: 'g' }],
    ['unknown_action', { ...required, action: 'flattr' }],
    ['unknown_action', { ...required, action: 'x'.repeat(1e6) }],
    ['unusable_podcast', { ...required, action: 'play', podcast: 'antennapod_local:/x' }],
    ['unusable_episode', { ...required, action: 'play', episode: 'content://x' }],
    ['unusable_episode', { ...required, action: 'play', episode: '' }],
  ])('as %s', (skipped, sent) => {
    expect(parseAction(sent).skipped).toBe(skipped);
    expect(parseAction(sent).entry).toBeUndefined();
  });
});

it('parseAction turns any JSON into a valid entry of uploadActions, or skips it', () => {
  const texts = fc.oneof(fc.webUrl(), fc.string({ unit: 'binary' }));
  const loose = fc.oneof(fc.jsonValue(), fc.double(), texts);
  const actions = fc.oneof(
    fc.jsonValue(),
    fc.record(
      {
        podcast: fc.oneof(texts, loose),
        episode: fc.oneof(texts, loose),
        action: fc.oneof(fc.constantFrom('play', 'New', 'DOWNLOAD', 'delete'), loose),
        guid: loose,
        device: loose,
        timestamp: fc.oneof(
          fc.date().map((date) => (Number.isNaN(date.getTime()) ? 0 : date.toISOString())),
          loose,
        ),
        started: loose,
        position: loose,
        total: loose,
      },
      { requiredKeys: ['podcast', 'episode', 'action'] },
    ),
  );
  const entries = uploadActions.request.shape.entries;
  fc.assert(
    fc.property(actions, (sent) => {
      const { entry, skipped } = parseAction(sent);
      expect(entry === undefined).toBe(skipped !== undefined);
      expect(entries.safeParse(entry ? [entry] : []).success).toBe(true);
    }),
    { numRuns: 1_000 },
  );
});
