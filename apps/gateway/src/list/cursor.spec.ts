import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Cursor, type CursorScope, decodeCursor, encodeCursor } from './cursor.js';

const cursor: Cursor = {
  direction: 'after',
  boundary: 42,
  syncTimestamp: '2026-02-02T12:00:00.123Z',
  total: 99,
};
const scope: CursorScope = {
  userId: 'aaaaaaaa-aaaa-4aaa-aaaa-aaaaaaaaaaaa',
  list: 'episodes',
  since: '2026-01-01T00:00:00.000Z',
};

describe('a cursor', () => {
  it('is decoded as it was encoded', () => {
    const any: fc.Arbitrary<Cursor> = fc.record({
      direction: fc.constantFrom('after', 'before'),
      boundary: fc.maxSafeNat(),
      syncTimestamp: fc
        .date({ min: new Date(0), max: new Date('9999-01-01'), noInvalidDate: true })
        .map((date) => date.toISOString()),
      total: fc.maxSafeNat(),
      range: fc.option(fc.record({ first: fc.maxSafeNat(), last: fc.maxSafeNat() }), {
        nil: undefined,
      }),
    });
    fc.assert(
      fc.property(any, (made) => {
        expect(decodeCursor(encodeCursor(made, scope), scope)).toEqual(made);
      }),
    );
  });

  it('needs no escaping in a URL', () => {
    expect(encodeCursor(cursor, scope)).toMatch(/^[\w-]+\.[\w-]+$/);
  });

  it.each([
    ['another user', { userId: 'bbbbbbbb-bbbb-4bbb-bbbb-bbbbbbbbbbbb' }],
    ['another list', { list: 'subscriptions' }],
    ['another since', { since: '2026-01-01T00:00:00.001Z' }],
    ['no since', { since: undefined }],
  ])('is ignored with %s', (_, foreign) => {
    expect(decodeCursor(encodeCursor(cursor, scope), { ...scope, ...foreign })).toBeUndefined();
  });

  it('is ignored if any character was altered', () => {
    const text = encodeCursor(cursor, scope);
    fc.assert(
      fc.property(
        fc.nat(text.length - 1),
        fc.string({ minLength: 1, maxLength: 1 }),
        (index, character) => {
          fc.pre(text[index] !== character);
          const altered = text.slice(0, index) + character + text.slice(index + 1);
          expect(decodeCursor(altered, scope)).toBeUndefined();
        },
      ),
    );
  });

  it('is ignored if it is anything else', () => {
    for (const text of [
      '',
      '.',
      'x',
      'x.y.z',
      `${encodeCursor(cursor, scope)}.`,
      ` ${encodeCursor(cursor, scope)}`,
    ])
      expect(decodeCursor(text, scope)).toBeUndefined();
    fc.assert(fc.property(fc.string(), (text) => decodeCursor(text, scope) === undefined));
  });
});
