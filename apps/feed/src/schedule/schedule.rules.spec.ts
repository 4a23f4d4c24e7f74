import { describe, expect, it } from 'vitest';
import {
  blockDurationMs,
  nextAfterFailure,
  nextAfterSuccess,
  lanePauseMs,
  publishingIntervalOf,
  statusAfterFailure,
} from './schedule.rules.js';

const [hour, day] = [3_600_000, 86_400_000];
const now = Date.parse('2026-01-01T00:00:00Z');
const random = () => 0.5;

describe('publishingIntervalOf', () => {
  it.each<[string, number[], object]>([
    ['none', [], { latest: undefined, gap: undefined }],
    ['one', [now - day], { latest: now - day, gap: undefined }],
    [
      'a weekly show',
      [1, 8, 15, 22].map((n) => now - n * day),
      { latest: now - day, gap: 7 * day },
    ],
    [
      'a break and episodes in the future',
      [-5, 1, 2, 3, 400].map((n) => now - n * day),
      { latest: now - day, gap: day },
    ],
  ])('of %s', (_, dates, rhythm) => expect(publishingIntervalOf(dates, now)).toEqual(rhythm));
});

describe('nextAfterSuccess', () => {
  it.each<[string, number | undefined, number | undefined, number]>([
    ['without dates', undefined, undefined, 24],
    ['a daily show after its episode', 1, 24, 6],
    ['a daily show when the next one is expected', 23, 24, 1],
    ['a daily show shortly before', 20.5, 24, 1.1],
    ['a weekly show', 24, 168, 24],
    ['a weekly show when the next one is expected', 160, 168, 4.2],
    ['a monthly show when the next one is late', 1_000, 720, 24],
    ['a show that ended a year ago', 365 * 24, 168, 168],
    ['a show that is silent for 40 days', 40 * 24, 168, 96],
  ])('%s', (_, hoursAgo, gapHours, expected) => {
    const rhythm = {
      latest: hoursAgo === undefined ? undefined : now - hoursAgo * hour,
      gap: gapHours === undefined ? undefined : gapHours * hour,
    };
    const next = nextAfterSuccess(rhythm, { now, freshFor: 0, random });
    expect((next - now) / hour).toBeCloseTo(expected, 1);
  });

  it('respects the publisher for at most a day', () => {
    const rhythm = { latest: now - 23 * hour, gap: day };
    const next = (freshFor: number) => nextAfterSuccess(rhythm, { now, freshFor, random }) - now;
    expect([next(3 * hour), next(300 * day)]).toEqual([3 * hour, day]);
    const complete = nextAfterSuccess({ isComplete: true }, { now, freshFor: 0, random });
    expect(complete - now).toBe(14 * day);
  });

  it('spreads by 15 %', () => {
    const next = (value: number) =>
      nextAfterSuccess({}, { now, freshFor: 0, random: () => value }) - now;
    expect([next(0), next(1)]).toEqual([Math.round(0.85 * day), Math.round(1.15 * day)]);
  });
});

describe('failures', () => {
  it.each([
    [1, 0, hour / 4],
    [2, 0, hour / 2],
    [10, 1, day],
    [50, 15, 7 * day],
    [90, 181, 30 * day],
  ])('after %i in %i days the next fetch is in %i ms', (failures, days, expected) => {
    const failingSince = now - days * day;
    expect(nextAfterFailure({ failures, failingSince }, { now, random }) - now).toBe(expected);
  });

  it.each<[string, number, number, boolean, string]>([
    ['at first', 0, 0, false, 'ok'],
    ['after three days', 3, 0, false, 'failing'],
    ['after half a year', 181, 0, false, 'gone'],
    ['410 once', 0, 1, false, 'ok'],
    ['410 for three days', 3, 3, false, 'gone'],
    ['of a forbidden address', 0, 0, true, 'refused'],
  ])('%s: the status', (_, days, goneCount, isRefused, status) => {
    const failure = { failingSince: now - days * day, goneCount, isRefused };
    expect(statusAfterFailure('ok', failure, now)).toBe(status);
  });

  it('blocks a host as long as it asks, else longer each time', () => {
    expect([
      blockDurationMs(1, 5 * hour),
      blockDurationMs(1, 1),
      blockDurationMs(1, 90 * day),
    ]).toEqual([5 * hour, 60_000, day]);
    expect([blockDurationMs(1, undefined), blockDurationMs(3, undefined)]).toEqual([
      hour / 4,
      hour,
    ]);
  });

  it('pauses for twice the duration of a request, from a second to 20 seconds', () => {
    expect([1, 700, 45_000].map(lanePauseMs)).toEqual([1_000, 1_400, 20_000]);
  });
});
