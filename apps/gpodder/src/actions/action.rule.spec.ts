import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { uploadActions } from '#contracts';
import { type ActionEntry, readAction } from './action.rule.js';

const at = '2024-03-01T12:00:05.000000Z';
const named = {
  podcast: 'https://a.example/f',
  episode: 'https://a.example/1.mp3',
  timestamp: '2024-03-01T12:00:05',
};
const meant = (action: object) => {
  const { statuses, duration } = readAction({ ...named, ...action }).entry as ActionEntry;
  const values = Object.entries(statuses).map(([name, status]) => [name, status?.value]);
  return { ...Object.fromEntries(values), ...(duration === undefined ? {} : { duration }) };
};

const [played, position] = [
  { playedStatus: true, newStatus: false, playbackPosition: 0 },
  { newStatus: false },
];

describe('an action says', () => {
  it.each([
    [
      'AntennaPod: stopped',
      { action: 'play', started: 0, position: 60, total: 600 },
      { ...position, playbackPosition: 60, duration: 600 },
    ],
    [
      'AntennaPod: played',
      { action: 'play', started: 600, position: 600, total: 600 },
      { ...played, duration: 600 },
    ],
    [
      'AntennaPod: nothing known',
      { action: 'play', started: -1, position: -1, total: -1 },
      position,
    ],
    ['AntennaPod: marked as unplayed', { action: 'new' }, { newStatus: true, playedStatus: false }],
    ['AntennaPod: downloaded', { action: 'download' }, { downloadStatus: true }],
    ['AntennaPod: deleted', { action: 'delete' }, { downloadStatus: false }],
    [
      'Kasts: of unknown length',
      { action: 'play', started: 0, position: 60, total: 1 },
      { ...position, playbackPosition: 60 },
    ],
    [
      'Kasts: played, of unknown length',
      { action: 'play', started: 1, position: 1, total: 1 },
      played,
    ],
    [
      'Kasts: beyond the end',
      { action: 'play', started: 0, position: 601, total: 600 },
      { ...played, duration: 600 },
    ],
    [
      'nobody: far beyond the end',
      { action: 'play', position: 1_200, total: 600 },
      { ...position, playbackPosition: 1_200 },
    ],
    [
      'nobody: beyond two seconds',
      { action: 'play', position: 60, total: 2 },
      { ...position, playbackPosition: 60 },
    ],
    ['gPodder: begun', { action: 'play' }, position],
    [
      'gPodder: without a length',
      { action: 'play', position: 60 },
      { ...position, playbackPosition: 60 },
    ],
    [
      'Cardo: in upper case',
      { action: 'PLAY', started: 0, position: 60, total: 600 },
      { ...position, playbackPosition: 60, duration: 600 },
    ],
    [
      'GNOME Podcasts: of unknown length',
      { action: 'play', started: 0, position: 60, total: 60 },
      { ...played, duration: 60 },
    ],
    [
      'Music Assistant: begun anew',
      { action: 'play', position: 0, total: 600 },
      { ...position, playbackPosition: 0, duration: 600 },
    ],
    [
      'nobody: a length of 0',
      { action: 'play', position: 0, total: 0 },
      { ...position, playbackPosition: 0 },
    ],
    [
      'old gPodder: hours and minutes',
      { action: 'play', position: '00:01:00', total: '600' },
      { ...position, playbackPosition: 60, duration: 600 },
    ],
  ])('%s', (_, action, values) => expect(meant(action)).toEqual(values));

  it('all of it at its time, and at its arrival where it says none', () => {
    expect(readAction({ ...named, action: 'new' }).entry?.statuses).toEqual({
      newStatus: { value: true, at },
      playedStatus: { value: false, at },
    });
    expect(
      readAction({ ...named, action: 'new', timestamp: null }).entry?.statuses.newStatus,
    ).toEqual({ value: true });
  });
});

describe('an action is about', () => {
  it('the episode of a feed by guid and enclosure, once both are repaired', () => {
    const read = readAction({
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
    ['an empty enclosure', ''],
    ['an enclosure that can not be used', 'content://x/1'],
  ])('the guid alone with %s (GNOME Podcasts)', (_, episode) => {
    const { entry } = readAction({ ...named, episode, guid: 'g', action: 'new' });
    expect(entry).toMatchObject({ episodeGuid: 'g' });
    expect(entry).not.toHaveProperty('enclosureUrl');
  });

  it('the same without its device, where that is none', () => {
    const read = readAction({ ...named, device: 'no such device!', action: 'new' });
    expect(read.device).toBeUndefined();
    expect(read.entry).toBeDefined();
  });
});

describe('an action is skipped', () => {
  it.each([
    ['no_object', null],
    ['no_object', 'x'],
    ['no_object', []],
    ['missing_key', {}],
    ['missing_key', { ...named }],
    ['missing_key', { ...named, action: 1 }],
    ['missing_key', { ...named, action: 'play', podcast: null }],
    ['missing_key', { podcast: named.podcast, action: 'play', guid: 'g' }],
    ['unknown_action', { ...named, action: 'flattr' }],
    ['unknown_action', { ...named, action: 'x'.repeat(1e6) }],
    ['unusable_podcast', { ...named, action: 'play', podcast: 'antennapod_local:/x' }],
    ['unusable_episode', { ...named, action: 'play', episode: 'content://x' }],
    ['unusable_episode', { ...named, action: 'play', episode: '' }],
  ])('as %s', (skipped, sent) => {
    expect(readAction(sent).skipped).toBe(skipped);
    expect(readAction(sent).entry).toBeUndefined();
  });
});

it('any JSON is an entry that the service takes, or skipped', () => {
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
      const { entry, skipped } = readAction(sent);
      expect(entry === undefined).toBe(skipped !== undefined);
      expect(entries.safeParse(entry ? [entry] : []).success).toBe(true);
    }),
    { numRuns: 1_000 },
  );
});
