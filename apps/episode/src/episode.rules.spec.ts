import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Status } from '#contracts';
import { newer, settle } from './episode.rules.js';

const arrived = Date.parse('2026-02-02T12:00:00.500Z');
const full = (value: Status['value'], at: string): Status => ({ value, at, minuteForm: false });
const toMinute = (value: Status['value'], at: string): Status => ({ value, at, minuteForm: true });
const at = (time: string) => `2026-02-01T${time.padEnd(15, '0')}Z`;

const [noon, later] = [at('12:00:10.000000'), at('12:00:20.000000')];

describe('settle', () => {
  it('takes the first status there is', () => {
    expect(settle(undefined, full(1, noon), arrived)).toEqual({
      status: full(1, noon),
      change: 'seen',
    });
  });

  it('lets a later time replace', () => {
    expect(settle(full(1, noon), full(2, later), arrived)).toEqual({
      status: full(2, later),
      change: 'seen',
    });
  });

  it('lets an equal time replace', () => {
    expect(settle(full(1, noon), full(2, noon), arrived)).toEqual({
      status: full(2, noon),
      change: 'seen',
    });
  });

  it('ignores an earlier time, by a microsecond too', () => {
    const standing = full(1, at('12:00:10.000001'));
    expect(settle(standing, full(2, noon), arrived)).toEqual({ status: standing, change: 'none' });
  });

  it.each([
    ['what was sent', full(1, at('12:00:50.000000')), toMinute(2, at('12:00:00.000000'))],
    ['what stands', toMinute(1, at('12:00:00.000000')), full(2, at('12:00:50.000000'))],
    ['both', toMinute(1, at('12:00:00.000000')), toMinute(2, at('12:00:00.000000'))],
  ])(
    'compares both times cut to the minute when %s has minute form: the same minute replaces',
    (_, standing, sent) => {
      expect(settle(standing, sent, arrived)).toEqual({ status: sent, change: 'seen' });
    },
  );

  it('ignores an earlier minute in minute form', () => {
    const standing = full(1, at('12:01:00.000000'));
    expect(settle(standing, toMinute(2, at('12:00:00.000000')), arrived).change).toBe('none');
  });

  it.each([
    ['the same time', full(1, noon), full(1, noon)],
    ['another time of the same printed minute', full(1, noon), full(1, later)],
    ['the printed form of what stands', full(true, noon), toMinute(true, at('12:00:00.000000'))],
  ])('finds no change to see in the same value at %s', (_, standing, sent) => {
    expect(settle(standing, sent, arrived).change).not.toBe('seen');
  });

  it('keeps the later time of a repeated value, so that the order of arrival does not matter', () => {
    expect(settle(full(1, noon), full(1, later), arrived)).toEqual({
      status: full(1, later),
      change: 'time',
    });
  });

  it('sees a change in the same value at a later printed minute', () => {
    expect(settle(full(1, noon), full(1, at('12:01:00.000000')), arrived).change).toBe('seen');
  });

  it('takes a time 5 minutes ahead of the arrival as it is', () => {
    const sent = full(1, '2026-02-02T12:05:00.500000Z');
    expect(settle(undefined, sent, arrived).status).toEqual(sent);
  });

  it("counts a time more than 5 minutes ahead as the request's arrival", () => {
    const clamped = full(1, '2026-02-02T12:00:00.500000Z');
    expect(settle(undefined, full(1, '2026-02-02T12:05:00.500001Z'), arrived).status).toEqual(
      clamped,
    );
    expect(settle(full(2, noon), toMinute(1, '2999-01-01T00:00:00.000000Z'), arrived)).toEqual({
      status: clamped,
      change: 'seen',
    });
  });

  it('changes nothing when a clamped status has the value that stands', () => {
    const sent = full(1, '2999-01-01T00:00:00.000000Z');
    expect(settle(full(1, noon), sent, arrived)).toEqual({ status: full(1, noon), change: 'none' });
  });

  it('lets a clamped status lose against a standing time that is later than the arrival', () => {
    const standing = full(1, '2026-02-02T12:04:00.000000Z');
    expect(settle(standing, full(2, '2999-01-01T00:00:00.000000Z'), arrived).change).toBe('none');
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

const standsAfter = (sent: readonly Status[]) =>
  sent.reduce<Status | undefined>(
    (standing, status) => settle(standing, status, arrived).status,
    undefined,
  );

describe('a register', () => {
  it('ends at the newest of any shuffled full-precision writes', () => {
    fc.assert(
      fc.property(writes, (sent) => {
        expect(standsAfter(sent)).toEqual([...sent].sort((a, b) => (a.at < b.at ? -1 : 1)).at(-1));
      }),
    );
  });

  it('does not change when everything is sent again', () => {
    fc.assert(
      fc.property(writes, (sent) => {
        const standing = standsAfter(sent);
        const newest = sent.find((status) => status.at === standing?.at) as Status;
        expect(settle(standing, newest, arrived)).toEqual({ status: newest, change: 'none' });
        expect(standsAfter([...sent, ...sent])).toEqual(standing);
      }),
    );
  });

  it('merges to the same in whichever two parts it was kept', () => {
    fc.assert(
      fc.property(writes, fc.nat(40), (sent, cut) => {
        const parts = [standsAfter(sent.slice(0, cut)), standsAfter(sent.slice(cut))] as const;
        expect(newer(...parts)).toEqual(standsAfter(sent));
        expect(newer(parts[1], parts[0])).toEqual(standsAfter(sent));
      }),
    );
  });
});

describe('newer', () => {
  it('is the one there is', () => {
    expect(newer(undefined, undefined)).toBeUndefined();
    expect(newer(full(1, noon), undefined)).toEqual(full(1, noon));
    expect(newer(undefined, full(1, noon))).toEqual(full(1, noon));
  });

  it('is the first where both are equally new, or of one minute and either in minute form', () => {
    expect(newer(full(1, noon), full(2, noon))).toEqual(full(1, noon));
    expect(newer(toMinute(1, at('12:00:00.000000')), full(2, later))).toEqual(
      toMinute(1, at('12:00:00.000000')),
    );
  });
});
