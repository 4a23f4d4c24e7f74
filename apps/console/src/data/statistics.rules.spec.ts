import { describe, expect, it } from 'vitest';
import type { Episode } from '#client';
import { roundScale, statisticsOf } from './statistics.rules.js';

/** Thursday, in the time zone of the process, as are all dates below. */
const now = new Date(2026, 10, 26, 12);
const hour = 3_600;

/** Returns a state with a local time, as the API answers it: to the minute, in UTC. */
const at = <Value>(value: Value, ...[month, day]: [month: number, day: number]) => ({
  value,
  timestamp: new Date(2026, month - 1, day).toISOString().slice(0, 16),
});
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

describe('statisticsOf', () => {
  it.each<[string, Partial<Episode>, number]>([
    ['its position', { playback_position: at(hour, 11, 24), duration: 2 * hour }, hour],
    ['its position without a duration', { playback_position: at(hour, 11, 24) }, hour],
    ['at most its duration', { playback_position: at(3 * hour, 11, 24), duration: hour }, hour],
    [
      'its duration, if played',
      { playback_position: at(60, 11, 24), played_status: at(true, 11, 24), duration: hour },
      hour,
    ],
    [
      'its position, if played without a duration',
      { playback_position: at(60, 11, 24), played_status: at(true, 11, 24) },
      60,
    ],
    ['nothing, if neither started nor played', { new_status: at(true, 11, 24) }, 0],
    ['nothing, if only downloaded', { download_status: at(true, 11, 24), duration: hour }, 0],
    [
      'nothing, if set back to the start',
      { playback_position: at(0, 11, 24), played_status: at(false, 11, 24), duration: hour },
      0,
    ],
  ])('counts an episode with %s', (_, fields, seconds) => {
    const statistics = statisticsOf([row(fields)], 'weeks', now);
    expect(statistics).toMatchObject({ seconds, uncounted: 0 });
    expect(statistics.bars.at(-1)?.seconds).toBe(seconds);
  });

  it('counts played episodes of unknown duration separately', () => {
    const history = [row({ played_status: at(true, 11, 24) })];
    expect(statisticsOf(history, 'weeks', now)).toMatchObject({ seconds: 0, uncounted: 1 });
  });

  it('counts an episode in the week of its last listening change', () => {
    const history = [
      // Sunday and Monday.
      row({ playback_position: at(1, 11, 15) }),
      row({ playback_position: at(2, 11, 16) }),
      // Played later, then no longer a favourite.
      row({
        playback_position: at(4, 11, 3),
        played_status: at(true, 11, 10),
        favorite_status: at(false, 11, 24),
      }),
      // Marked as not played later, which is no listening.
      row({ playback_position: at(8, 11, 3), played_status: at(false, 11, 24) }),
    ];
    const { bars } = statisticsOf(history, 'weeks', now);
    expect(bars).toHaveLength(12);
    const listened = bars.filter(({ seconds }) => seconds > 0);
    expect(listened.map(({ start, seconds }) => [start.getDate(), seconds])).toEqual([
      [2, 8],
      [9, 5],
      [16, 2],
    ]);
    expect(bars.every(({ start }) => start.getDay() === 1 && start.getHours() === 0)).toBe(true);
  });

  it('leaves out listening before the period', () => {
    const history = [
      row({ playback_position: at(1, 9, 6) }),
      row({ playback_position: at(2, 9, 7) }),
    ];
    const { seconds, podcasts, bars } = statisticsOf(history, 'weeks', now);
    expect([seconds, podcasts, bars[0]?.seconds]).toEqual([2, [['p', 2]], 2]);
    expect(statisticsOf(history, 'year', now)).toMatchObject({ seconds: 3 });
    expect(statisticsOf(history, 'year', now).bars).toHaveLength(52);
  });

  it('shows months from the first listening until now for all', () => {
    const history = [
      row({ playback_position: at(1, 9, 30) }),
      row({ playback_position: at(2, 11, 1) }),
    ];
    const { bars } = statisticsOf(history, 'all', now);
    expect(
      bars.map(({ start, seconds }) => [start.getMonth() + 1, start.getDate(), seconds]),
    ).toEqual([
      [9, 1, 1],
      [10, 1, 0],
      [11, 1, 2],
    ]);
    expect(statisticsOf([], 'all', now).bars).toHaveLength(1);
  });

  it('shows the time of a clock that was never set in the month 2000-01', () => {
    const never = { value: 1, timestamp: '1970-01-01T00:00' };
    const { bars, seconds } = statisticsOf([row({ playback_position: never })], 'all', now);
    expect([bars[0]?.start, bars[0]?.seconds, seconds]).toEqual([new Date(2000, 0), 1, 1]);
    expect(bars).toHaveLength(26 * 12 + 11);
  });

  it('orders podcasts by their hours', () => {
    const history = [
      row({ playback_position: at(2, 11, 24) }),
      row({ playback_position: at(3, 11, 24), podcast_guid: 'q' }),
      row({ playback_position: at(2, 11, 24) }),
    ];
    expect(statisticsOf(history, 'weeks', now).podcasts).toEqual([
      ['p', 4],
      ['q', 3],
    ]);
  });
});

it.each([
  [0, 1],
  [0.3, 1],
  [1, 1],
  [1.2, 2],
  [4, 4],
  [7, 8],
  [8.1, 10],
  [10, 10],
  [180, 200],
  [660, 800],
])('roundScale of %d is %d', (value, scale) => expect(roundScale(value)).toBe(scale));
