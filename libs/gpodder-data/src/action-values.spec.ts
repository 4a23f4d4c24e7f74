import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseTime } from '#contracts';
import { parseEpisodeGuid, parseWholeSeconds, parseActionTime } from './action-values.js';

const noon = '2024-03-01T12:00:05.000000Z';

describe('parseActionTime', () => {
  it.each([
    ['by AntennaPod, Kasts, gPodder', '2024-03-01T12:00:05', noon],
    ['by Music Assistant', '2024-03-01T12:00:05Z', noon],
    ['by Cardo', '2024-03-01T12:00:05.000Z', noon],
    ['by GNOME Podcasts', '2024-03-01T12:00:05+00:00', noon],
    ['by the Nextcloud documentation', '2024-03-01 12:00:05', noon],
    ['by Python, isoformat()', '2024-03-01T12:00:05.123456', '2024-03-01T12:00:05.123456Z'],
    ['by Rust, with nanoseconds', '2024-03-01T12:00:05.123456789Z', '2024-03-01T12:00:05.123456Z'],
    ['with an offset to the east', '2024-03-01T14:30:05+02:30', noon],
    ['with an offset to the west, without a colon', '2024-03-01T07:00:05-0500', noon],
    ['with an offset in hours', '2024-03-01 13:00:05 +01', noon],
    ['in lower case', '2024-03-01t12:00:05z', noon],
    ['with white space', ' 2024-03-01T12:00:05\n', noon],
    ['without seconds', '2024-03-01T12:00', '2024-03-01T12:00:00.000000Z'],
    ['in seconds', 1_709_294_405, noon],
    ['in seconds with a fraction', 1_709_294_405.5, '2024-03-01T12:00:05.500000Z'],
    ['in milliseconds', 1_709_294_405_000, noon],
    ['in seconds, as a string', '1709294405', noon],
    ['in milliseconds, as a string', '1709294405000', noon],
  ])('reads a time %s', (_, sent, read) =>
    expect(parseTime(parseActionTime(sent) as string)?.instant).toBe(read),
  );

  it.each([undefined, null, ''])('returns undefined for %j', (sent) =>
    expect(parseActionTime(sent)).toBeUndefined(),
  );

  it.each([
    'yesterday',
    '2024-02-30T12:00:00',
    '2024-03-01T25:00:00',
    '2024-03-01',
    '0000-01-01T00:00:00',
    '2024-03-01T12:00:05+99:99',
    -1,
    '-1',
    1e300,
    Number.NaN,
    Infinity,
    '9'.repeat(17),
    '9'.repeat(1e6),
    true,
    {},
    [],
  ])('returns the oldest time for an invalid one (%#)', (sent) =>
    expect(parseActionTime(sent)).toBe('1970-01-01T00:00:00.000000Z'),
  );

  it('returns a valid time for any value', () => {
    fc.assert(
      fc.property(fc.oneof(fc.anything(), fc.double(), fc.date().map(String)), (sent) => {
        const read = parseActionTime(sent);
        expect(read === undefined || parseTime(read) !== undefined).toBe(true);
      }),
    );
  });

  it('keeps milliseconds in each form', () => {
    const dates = fc.date({
      min: new Date(0),
      max: new Date('9999-12-30T00:00:00Z'),
      noInvalidDate: true,
    });
    fc.assert(
      fc.property(
        dates,
        fc.constantFrom('Z', '', '+00:00', '-0000'),
        fc.constantFrom('T', ' '),
        (date, zone, between) => {
          const sent = date.toISOString().replace('T', between).replace('Z', zone);
          expect(Date.parse(parseActionTime(sent) as string)).toBe(date.getTime());
        },
      ),
    );
  });
});

describe('parseWholeSeconds', () => {
  it.each([
    [0, 0],
    [-0, 0],
    [12, 12],
    [12.9, 12],
    ['12', 12],
    ['12.9', 12],
    [' 12 ', 12],
    ['02:05', 125],
    ['1:02:05', 3_725],
    ['01:02:05.5', 3_725],
    [2_147_483_647, 2_147_483_647],
  ])('reads %j', (sent, read) => expect(parseWholeSeconds(sent)).toBe(read));

  it.each([
    -1,
    -0.5,
    '-1',
    null,
    undefined,
    '',
    'x',
    '1e3',
    '0x10',
    ':5',
    '1:2:3:4',
    2_147_483_648,
    1e300,
    Infinity,
    Number.NaN,
    true,
    [1],
    '9'.repeat(1e6),
    '999999:999999:99',
  ])('returns undefined for %j', (sent) => expect(parseWholeSeconds(sent)).toBeUndefined());

  it('returns a whole number of 32 bits for any value', () => {
    fc.assert(
      fc.property(fc.anything(), (sent) => {
        const read = parseWholeSeconds(sent);
        expect(
          read === undefined || (Number.isInteger(read) && Object.is(Math.abs(read), read)),
        ).toBe(true);
      }),
    );
  });
});

it.each([
  [' abc ', 'abc'],
  ['https://a.example/?p=1', 'https://a.example/?p=1'],
  ['', undefined],
  ['null', undefined],
  ['hash:0123', undefined],
  [null, undefined],
  [7, undefined],
  ['a\0b', undefined],
  ['\ud800', undefined],
  ['x'.repeat(2_049), undefined],
])('parseEpisodeGuid returns the guid of the feed, or undefined: %j', (sent, read) =>
  expect(parseEpisodeGuid(sent)).toBe(read),
);
