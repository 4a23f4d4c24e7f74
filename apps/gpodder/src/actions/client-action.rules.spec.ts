import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { GpodderEpisode, ActionStatuses } from '#contracts';
import { parseAction } from '#gpodder-data';
import { toClientActions } from './client-action.rules.js';

const at = (minute: number) => `2024-03-01T12:${String(minute).padStart(2, '0')}:05.678901Z`;
const secondsAt = (minute: number) => at(minute).slice(0, 19);

const episode = (statuses: ActionStatuses, more: Partial<GpodderEpisode> = {}): GpodderEpisode => ({
  syncId: '3f2504e0-4f89-41d3-9a0c-0305e82c3301',
  feedUrl: 'https://a.example/f',
  podcastGuid: '3f2504e0-4f89-41d3-9a0c-0305e82c3302',
  episodeGuid: 'g',
  enclosureUrl: 'https://a.example/1.mp3',
  episodeUrl: '',
  title: '',
  publishDate: '1970-01-01T00:00:00.000Z',
  statuses,
  ...more,
});
const position = (value: number, minute: number) => ({
  playbackPosition: { value, at: at(minute) },
});
const played = (value: boolean, minute: number) => ({ playedStatus: { value, at: at(minute) } });
const isNew = (value: boolean, minute: number) => ({ newStatus: { value, at: at(minute) } });
const download = (value: boolean, minute: number) => ({
  downloadStatus: { value, at: at(minute) },
});

/** Returns the action, minute and numbers of each resulting action. */
const summariesOf = (statuses: ActionStatuses, duration?: number) =>
  toClientActions(episode(statuses, duration === undefined ? {} : { duration }), 'all').map(
    ({ action, timestamp, started, position: reached, total }) => {
      expect(reached).toBe(started);
      return [
        action,
        Number(timestamp.slice(14, 16)),
        ...(reached === undefined ? [] : [reached, total]),
      ];
    },
  );

describe('the listening action is', () => {
  it.each([
    [
      'a play to the end, if played',
      { ...played(true, 1), ...position(0, 1), ...isNew(false, 1) },
      600,
      [['play', 1, 600, 600]],
    ],
    [
      'a play of 24 hours, if played with unknown length',
      played(true, 1),
      undefined,
      [['play', 1, 86_400, 86_400]],
    ],
    [
      'a play to the end, if played and position are equally new',
      { ...played(true, 1), ...position(60, 1) },
      600,
      [['play', 1, 600, 600]],
    ],
    [
      'a play at the position, if that is newer than played',
      { ...played(true, 1), ...position(60, 2) },
      600,
      [['play', 2, 60, 600]],
    ],
    [
      'a play at the position, in whole seconds',
      { ...position(60.9, 1), ...isNew(false, 1) },
      600.5,
      [['play', 1, 60, 600]],
    ],
    [
      'a play one hour before the end, if the length is unknown',
      position(60, 1),
      undefined,
      [['play', 1, 60, 3_660]],
    ],
    [
      'a play one hour before the end, if the length is below the position',
      position(60, 1),
      60.9,
      [['play', 1, 60, 3_660]],
    ],
    [
      'a play at the position, if that and new are equally new',
      { ...position(60, 1), ...isNew(true, 1) },
      600,
      [['play', 1, 60, 600]],
    ],
    [
      'new, if that is the newest',
      { ...position(60, 1), ...isNew(true, 2), ...played(false, 2) },
      600,
      [['new', 2]],
    ],
    [
      'new with the newest time',
      { ...position(0, 3), ...isNew(true, 2), ...played(false, 1) },
      600,
      [['new', 3]],
    ],
    ['new at position 0', position(0.9, 1), 600, [['new', 1]]],
    ['new, if it is no longer played', played(false, 1), undefined, [['new', 1]]],
    [
      'absent without any listening',
      { ...isNew(false, 1), favoriteStatus: { value: true, at: at(1) } },
      600,
      [],
    ],
    [
      'a play with numbers of 32 bits',
      position(1e300, 1),
      undefined,
      [['play', 1, 2_147_480_047, 2_147_483_647]],
    ],
  ])('%s', (_, statuses, duration, actions) =>
    expect(summariesOf(statuses, duration)).toEqual(actions),
  );
});

it('an episode can have a listening and a download action, the older one first', () => {
  expect(summariesOf({ ...position(60, 2), ...download(true, 1) }, 600)).toEqual([
    ['download', 1],
    ['play', 2, 60, 600],
  ]);
  expect(summariesOf({ ...position(60, 1), ...download(false, 2) }, 600)).toEqual([
    ['play', 1, 60, 600],
    ['delete', 2],
  ]);
});

it('aggregated is the listening action, else the download action', () => {
  const actions = (statuses: ActionStatuses) =>
    toClientActions(episode(statuses), 'aggregated').map(({ action }) => action);
  expect(actions({ ...position(60, 1), ...download(true, 2) })).toEqual(['play']);
  expect(actions({ ...played(false, 1), ...download(true, 2) })).toEqual(['new']);
  expect(actions(download(true, 2))).toEqual(['download']);
});

it('nextcloud is only a PLAY with all numbers', () => {
  const actions = (statuses: ActionStatuses) => toClientActions(episode(statuses), 'nextcloud');
  expect(actions({ ...position(60, 1), ...download(true, 2) })).toMatchObject([
    { action: 'PLAY', started: 60, position: 60, total: 3_660 },
  ]);
  expect(actions({ ...played(false, 1), ...download(true, 2) })).toEqual([]);
});

it('an action has URLs and guid of the episode, and a time without zone or fraction', () => {
  expect(toClientActions(episode(download(true, 1)), 'all')).toEqual([
    {
      podcast: 'https://a.example/f',
      episode: 'https://a.example/1.mp3',
      guid: 'g',
      action: 'download',
      timestamp: secondsAt(1),
    },
  ]);
  expect(
    toClientActions(episode(download(true, 1), { episodeGuid: '' }), 'all')[0],
  ).not.toHaveProperty('guid');
});

it('an episode without an enclosure has no action', () => {
  expect(toClientActions(episode(played(true, 1), { enclosureUrl: '' }), 'all')).toEqual([]);
});

/** Merges statuses by last writer wins, like the episode service. */
function merged(current: ActionStatuses, sent: ActionStatuses): ActionStatuses {
  const names = Object.keys(sent) as (keyof ActionStatuses)[];
  const newer = names.filter((name) => (sent[name]?.at ?? '') >= (current[name]?.at ?? ''));
  return { ...current, ...Object.fromEntries(newer.map((name) => [name, sent[name]])) };
}

const time = fc.integer({ min: 0, max: 4 }).map((minute) => `2024-03-01T12:0${minute}:00.000000Z`);
const status = <Value>(value: fc.Arbitrary<Value>) => fc.record({ value, at: time });
const statuses = fc.record(
  {
    playbackPosition: status(fc.double({ min: 0, max: 1e6, noNaN: true })),
    playedStatus: status(fc.boolean()),
    newStatus: status(fc.boolean()),
    downloadStatus: status(fc.boolean()),
  },
  { requiredKeys: [] },
) as fc.Arbitrary<ActionStatuses>;
const lengths = fc.option(fc.double({ min: 0.001, max: 1e6, noNaN: true }), { nil: undefined });

it('actions that a client sends back unchanged result in the same actions', () => {
  fc.assert(
    fc.property(statuses, lengths, (current, duration) => {
      const first = episode(current, { duration });
      const firstActions = toClientActions(first, 'all');
      let after = first;
      for (const action of firstActions) {
        const { entry } = parseAction(action);
        expect(entry).toBeDefined();
        after = {
          ...after,
          statuses: merged(after.statuses, entry?.statuses ?? {}),
          duration: entry?.duration ?? after.duration,
        };
      }
      const essence = ({ action, timestamp, position: reached }: (typeof firstActions)[number]) => [
        action,
        timestamp,
        reached,
      ];
      expect(toClientActions(after, 'all').map(essence)).toEqual(firstActions.map(essence));
    }),
    { numRuns: 2_000 },
  );
});

it('only a play has numbers: positive integers, and no total below the position', () => {
  fc.assert(
    fc.property(
      statuses,
      lengths,
      fc.constantFrom('all', 'aggregated', 'nextcloud'),
      (current, duration, selection) => {
        const actions = toClientActions(episode(current, { duration }), selection);
        expect(actions.length).toBeLessThanOrEqual(selection === 'all' ? 2 : 1);
        for (const { action, started, position: reached, total } of actions) {
          const numbers = [started, reached, total];
          const isPlay = action.toLowerCase() === 'play';
          const isRight = (number: unknown) =>
            isPlay ? Number.isInteger(number) && Number(number) > 0 : number === undefined;
          expect(numbers.every(isRight)).toBe(true);
          expect(total ?? 0).toBeGreaterThanOrEqual(reached ?? 0);
        }
      },
    ),
  );
});
