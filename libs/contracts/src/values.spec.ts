import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { faultInText } from './feed-url.js';
import {
  clampedTime,
  guidSchema,
  isPlainText,
  isSuperseded,
  storedTitle,
  parseStatusTime,
  parseTime,
  toStamp,
} from './values.js';

describe('storedTitle', () => {
  it.each([
    ['  Title ', 'Title'],
    ['a\0b\tc\u009fd', 'a b c d'],
    ['a\ud800b\udfffc😀', 'a b c😀'],
    ['\0 \n', ''],
    ['\u3164\u200b\u00ad\ufe0f \u202e', ''],
    ['\u202eA', '\u202eA'],
    ['👩‍🚀', '👩‍🚀'],
    ['x'.repeat(2_049), 'x'.repeat(2_048)],
    [`x${'ä'.repeat(1_024)}`, `x${'ä'.repeat(1_023)}`],
    [`xx${'😀'.repeat(512)}`, `xx${'😀'.repeat(511)}`],
    [`${'x'.repeat(2_047)} y`, 'x'.repeat(2_047)],
  ])('makes of %j what is kept', (sent, kept) => expect(storedTitle(sent)).toBe(kept));

  it('is idempotent, well-formed and within the limit', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('a', ' ', 'ä', '😀', '\ud83d', '\n'), maxLength: 3_000 }),
        (sent) => {
          const kept = storedTitle(sent);
          expect(storedTitle(kept)).toBe(kept);
          expect(faultInText(kept, 2_048)).toBeUndefined();
        },
      ),
    );
  });
});

describe('isPlainText', () => {
  it.each(['', 'a', '😀', '\u3164'])('accepts %j', (text) => expect(isPlainText(text)).toBe(true));

  it.each(['\0', 'a\n', '\u0085', '\uD800', 'a\uDC00b'])('rejects %j', (text) =>
    expect(isPlainText(text)).toBe(false),
  );
});

describe('guidSchema', () => {
  it.each([
    'AD9FD16D-2A4F-4C3C-8F2C-9A8B7C6D5E4F',
    'ad9fd16d-2a4f-0c3c-0f2c-9a8b7c6d5e4f',
    '12345678-1234-F234-0234-123456789abc',
    '00000000-0000-0000-0000-000000000000',
    'ffffffff-ffff-ffff-ffff-ffffffffffff',
  ])('takes a UUID of any version in any case and prints it in lower case: %s', (guid) =>
    expect(guidSchema.parse(guid)).toBe(guid.toLowerCase()),
  );

  it.each([
    '',
    'x',
    '1',
    ' ',
    'null',
    '\0',
    '☂',
    'a'.repeat(4_000),
    '{ad9fd16d-2a4f-4c3c-8f2c-9a8b7c6d5e4f}',
    'ad9fd16d-2a4f-4c3c-8f2c-9a8b7c6d5e4fx',
    'ad9fd16d2a4f4c3c8f2c9a8b7c6d5e4f',
    7,
    null,
  ])('refuses %j', (guid) => expect(guidSchema.safeParse(guid).success).toBe(false));
});

describe('parseTime', () => {
  it.each([
    ['2023-02-23T14:00:00Z', '2023-02-23T14:00:00.000000Z'],
    ['2023-02-23t14:00:00.5z', '2023-02-23T14:00:00.500000Z'],
    ['2023-02-23T14:00:00.123456789+02:00', '2023-02-23T12:00:00.123456Z'],
    ['2023-02-23T14:00:00 02:00', '2023-02-23T12:00:00.000000Z'],
    ['2023-02-23 14:00:00-23:59', '2023-02-24T13:59:00.000000Z'],
    ['2016-12-31T23:59:60Z', '2017-01-01T00:00:00.000000Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000000Z'],
  ])('reads any RFC 3339 offset and fraction: %s', (text, instant) => {
    expect(parseTime(text)).toEqual({ instant, minuteForm: false });
  });

  it.each([
    '2023-02-23',
    '2023-02-23T14:00:00',
    '2023-02-29T00:00:00Z',
    '2023-13-01T00:00:00Z',
    '2023-02-23T24:00:00Z',
    '2023-02-23T14:00:00+24:00',
    '0000-01-01T00:00:00Z',
    '0001-01-01T00:00:00+01:00',
    '9999-12-31T23:59:59-01:00',
    '1677153600',
    '',
  ])('refuses what is no RFC 3339 date-time of the years 1 to 9999: "%s"', (text) => {
    expect(parseTime(text)).toBeUndefined();
  });

  it('takes the dates and times that a calendar has, with any offset, and no others', () => {
    const part = (most: number) =>
      fc.integer({ min: 0, max: most }).map((n) => String(n).padStart(2, '0'));
    const year = fc.integer({ min: 0, max: 9_999 }).map((n) => String(n).padStart(4, '0'));
    const offset = fc.oneof(
      fc.constant('Z'),
      fc.tuple(fc.constantFrom('+', '-'), part(25), part(61)),
    );
    fc.assert(
      fc.property(
        year,
        part(13),
        part(32),
        part(25),
        part(61),
        part(61),
        offset,
        (y, mo, d, h, mi, s, zone) => {
          const [sign, hours, minutes] = zone === 'Z' ? ['+', '00', '00'] : zone;
          const day = new Date(0);
          day.setUTCFullYear(Number(y), Number(mo) - 1, Number(d));
          const isDay = day.getUTCMonth() === Number(mo) - 1 && day.getUTCDate() === Number(d);
          const isTime =
            Number(h) < 24 &&
            Number(mi) < 60 &&
            Number(s) < 61 &&
            Number(hours) < 24 &&
            Number(minutes) < 60;
          const away = (Number(hours) * 60 + Number(minutes)) * (sign === '-' ? -1 : 1);
          const seconds = (Number(h) * 60 + Number(mi) - away) * 60 + Number(s);
          const iso =
            isDay && isTime ? new Date(day.getTime() + seconds * 1_000).toISOString() : '';
          const expected = /^(?!0000)\d{4}-/.test(iso) ? `${iso.slice(0, 19)}.000000Z` : undefined;
          const zoneText = zone === 'Z' ? zone : `${sign}${hours}:${minutes}`;
          const text = `${y}-${mo}-${d}T${h}:${mi}:${s}${zoneText}`;
          expect(parseTime(text)?.instant).toBe(expected);
        },
      ),
      { numRuns: 2_000 },
    );
  });
});

describe('parseStatusTime', () => {
  it('reads the minute form as UTC and returns which form it was', () => {
    expect(parseStatusTime('2023-02-23T14:05')).toEqual({
      instant: '2023-02-23T14:05:00.000000Z',
      minuteForm: true,
    });
    expect(parseStatusTime('2023-02-23T14:05:00Z')?.minuteForm).toBe(false);
    expect(parseStatusTime('2023-02-23 14:05:00z')).toEqual({
      instant: '2023-02-23T14:05:00.000000Z',
      minuteForm: false,
    });
  });

  it.each(['2023-02-30T14:05', '2023-02-23T14:60', '2023-02-23', 'now', ''])(
    'refuses what is no time: "%s"',
    (text) => expect(parseStatusTime(text)).toBeUndefined(),
  );
});

describe('toStamp', () => {
  it('cuts to milliseconds and never rounds', () => {
    expect(toStamp({ instant: '2023-02-23T14:00:00.123999Z', minuteForm: false })).toBe(
      '2023-02-23T14:00:00.123Z',
    );
  });
});

describe('a change that ends a subscription', () => {
  const at = '2026-01-15T00:10:00.000000Z';
  const stored = (isSubscribed: boolean) => ({ isSubscribed, subscribedAt: at });

  it.each([true, false])(
    'without a time replaces the current value, subscribed %s',
    (isSubscribed) => expect(isSuperseded(stored(isSubscribed), false, undefined)).toBe(false),
  );

  it.each([
    ['2026-01-15T00:09:59.999999Z', true, true],
    ['2026-01-15T00:09:59.999999Z', false, true],
    ['2026-01-15T00:10:00.000000Z', true, true],
    ['2026-01-15T00:10:00.000000Z', false, false],
    ['2026-01-15T00:10:00.000001Z', true, false],
  ])(
    'of %s, where subscribed %s stands, is superseded: %s; of equal times subscribed wins',
    (time, value, is) => expect(isSuperseded(stored(value), false, time)).toBe(is),
  );

  it('with a subscription is superseded only by a later time', () => {
    expect(isSuperseded(stored(true), true, at)).toBe(false);
    expect(isSuperseded(stored(false), true, at)).toBe(false);
    expect(isSuperseded(stored(false), true, '2026-01-15T00:09:59.999999Z')).toBe(true);
  });
});

describe('a time of a client', () => {
  const arrivedMs = Date.parse('2026-01-15T00:00:00.000Z');

  it.each([
    ['2026-01-15T00:05:00.000000Z', '2026-01-15T00:05:00.000000Z', false],
    ['2026-01-15T00:05:00.000001Z', '2026-01-15T00:00:00.000000Z', true],
    ['0001-01-01T00:00:00.000000Z', '0001-01-01T00:00:00.000000Z', false],
  ])(
    '%s counts as %s: more than 5 minutes ahead of the arrival is the arrival',
    (sent, at, clamped) => expect(clampedTime(sent, arrivedMs)).toEqual({ at, clamped }),
  );
});
