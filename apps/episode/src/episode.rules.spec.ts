import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Status } from '#contracts';
import { applyStatus, newerStatus } from './episode.rules.js';

const arrived = Date.parse('2026-02-02T12:00:00.500Z');
const full = (value: Status['value'], at: string): Status => ({ value, at, minuteForm: false });
const toMinute = (value: Status['value'], at: string): Status => ({ value, at, minuteForm: true });
const at = (time: string) => `2026-02-01T${time.padEnd(15, '0')}Z`;

const [noon, later] = [at('12:00:10.000000'), at('12:00:20.000000')];

describe('applyStatus', () => {
  it('accepts the first status', () => {
    expect(applyStatus(undefined, full(1, noon), arrived)).toEqual({
      status: full(1, noon),
      change: 'visible',
    });
  });

  it('replaces a status with a later one', () => {
    expect(applyStatus(full(1, noon), full(2, later), arrived)).toEqual({
      status: full(2, later),
      change: 'visible',
    });
  });

  it('replaces a status with one of the same time', () => {
    expect(applyStatus(full(1, noon), full(2, noon), arrived)).toEqual({
      status: full(2, noon),
      change: 'visible',
    });
  });

  it('ignores an earlier time, even by a microsecond', () => {
    const current = full(1, at('12:00:10.000001'));
    expect(applyStatus(current, full(2, noon), arrived)).toEqual({
      status: current,
      change: 'none',
    });
  });

  it.each([
    ['the sent time', full(1, at('12:00:50.000000')), toMinute(2, at('12:00:00.000000'))],
    ['the current time', toMinute(1, at('12:00:00.000000')), full(2, at('12:00:50.000000'))],
    ['each time', toMinute(1, at('12:00:00.000000')), toMinute(2, at('12:00:00.000000'))],
  ])(
    'compares by the minute if %s has minute form; the same minute replaces',
    (_, current, sent) => {
      expect(applyStatus(current, sent, arrived)).toEqual({ status: sent, change: 'visible' });
    },
  );

  it('ignores an earlier minute in minute form', () => {
    const current = full(1, at('12:01:00.000000'));
    expect(applyStatus(current, toMinute(2, at('12:00:00.000000')), arrived).change).toBe('none');
  });

  it.each([
    ['the same time', full(1, noon), full(1, noon)],
    ['another time of the same printed minute', full(1, noon), full(1, later)],
    [
      'the printed form of the current time',
      full(true, noon),
      toMinute(true, at('12:00:00.000000')),
    ],
  ])('reports no visible change for an equal value at %s', (_, current, sent) => {
    expect(applyStatus(current, sent, arrived).change).not.toBe('visible');
  });

  it('stores the later time of an equal value, for any order of arrival', () => {
    expect(applyStatus(full(1, noon), full(1, later), arrived)).toEqual({
      status: full(1, later),
      change: 'time',
    });
  });

  it('reports a visible change for an equal value at a later minute', () => {
    expect(applyStatus(full(1, noon), full(1, at('12:01:00.000000')), arrived).change).toBe(
      'visible',
    );
  });

  it('accepts a time 5 minutes ahead of the arrival', () => {
    const sent = full(1, '2026-02-02T12:05:00.500000Z');
    expect(applyStatus(undefined, sent, arrived).status).toEqual(sent);
  });

  it("counts a time more than 5 minutes ahead as the request's arrival", () => {
    const clamped = full(1, '2026-02-02T12:00:00.500000Z');
    expect(applyStatus(undefined, full(1, '2026-02-02T12:05:00.500001Z'), arrived).status).toEqual(
      clamped,
    );
    expect(applyStatus(full(2, noon), toMinute(1, '2999-01-01T00:00:00.000000Z'), arrived)).toEqual(
      {
        status: clamped,
        change: 'visible',
      },
    );
  });

  it('ignores a clamped status with the current value', () => {
    const sent = full(1, '2999-01-01T00:00:00.000000Z');
    expect(applyStatus(full(1, noon), sent, arrived)).toEqual({
      status: full(1, noon),
      change: 'none',
    });
  });

  it('ignores a clamped status if the current time is later than the arrival', () => {
    const current = full(1, '2026-02-02T12:04:00.000000Z');
    expect(applyStatus(current, full(2, '2999-01-01T00:00:00.000000Z'), arrived).change).toBe(
      'none',
    );
  });
});

/** Distinct full-precision times around two minutes, each with one value. */
const writes = fc
  .uniqueArray(fc.nat(119_999_999), { minLength: 1, maxLength: 40 })
  .chain((micros) =>
    fc.tuple(
      fc.shuffledSubarray(micros, { minLength: micros.length }),
      fc.array(fc.nat(2), { minLength: micros.length, maxLength: micros.length }),
    ),
  )
  .map(([micros, values]) =>
    micros.map((micro, index) => {
      const text = new Date(Date.UTC(2026, 1, 1, 12) + Math.floor(micro / 1_000)).toISOString();
      return full(
        values[index] ?? 0,
        `${text.slice(0, 23)}${String(micro % 1_000).padStart(3, '0')}Z`,
      );
    }),
  );

const appliedInOrder = (sent: readonly Status[]) =>
  sent.reduce<Status | undefined>(
    (current, status) => applyStatus(current, status, arrived).status,
    undefined,
  );

describe('a status', () => {
  it('converges to the newest of any shuffled writes', () => {
    fc.assert(
      fc.property(writes, (sent) => {
        expect(appliedInOrder(sent)).toEqual(
          [...sent].sort((a, b) => (a.at < b.at ? -1 : 1)).at(-1),
        );
      }),
    );
  });

  it('does not change if all writes are repeated', () => {
    fc.assert(
      fc.property(writes, (sent) => {
        const current = appliedInOrder(sent);
        const newest = sent.find((status) => status.at === current?.at) as Status;
        expect(applyStatus(current, newest, arrived)).toEqual({ status: newest, change: 'none' });
        expect(appliedInOrder([...sent, ...sent])).toEqual(current);
      }),
    );
  });

  it('merges to the same result for any two parts of the writes', () => {
    fc.assert(
      fc.property(writes, fc.nat(40), (sent, cut) => {
        const parts = [
          appliedInOrder(sent.slice(0, cut)),
          appliedInOrder(sent.slice(cut)),
        ] as const;
        expect(newerStatus(...parts)).toEqual(appliedInOrder(sent));
        expect(newerStatus(parts[1], parts[0])).toEqual(appliedInOrder(sent));
      }),
    );
  });
});

describe('newerStatus', () => {
  it('returns the only status', () => {
    expect(newerStatus(undefined, undefined)).toBeUndefined();
    expect(newerStatus(full(1, noon), undefined)).toEqual(full(1, noon));
    expect(newerStatus(undefined, full(1, noon))).toEqual(full(1, noon));
  });

  it('returns the first of two that are equally new, also by the minute', () => {
    expect(newerStatus(full(1, noon), full(2, noon))).toEqual(full(1, noon));
    expect(newerStatus(toMinute(1, at('12:00:00.000000')), full(2, later))).toEqual(
      toMinute(1, at('12:00:00.000000')),
    );
  });
});
