import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Cursor, type CursorScope, Cursors } from './cursor.js';

const cursors = new Cursors('a-key-of-tests-that-is-long-enough');
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
    const rowId = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER });
    const any: fc.Arbitrary<Cursor> = fc.record({
      direction: fc.constantFrom('after', 'before'),
      boundary: fc.maxSafeNat(),
      syncTimestamp: fc
        .date({ min: new Date(0), max: new Date('9999-01-01'), noInvalidDate: true })
        .map((date) => date.toISOString()),
      total: fc.maxSafeNat(),
      range: fc.option(fc.record({ first: rowId, last: rowId }), {
        nil: undefined,
      }),
    });
    fc.assert(
      fc.property(any, (made) => {
        expect(cursors.decode(cursors.encode(made, scope), scope)).toEqual(made);
      }),
    );
  });

  it('needs no escaping in a URL', () => {
    expect(cursors.encode(cursor, scope)).toMatch(/^[\w-]+$/);
  });

  it('has the same length for all row ids', () => {
    const texts = [1, 2, 1_000_000, Number.MAX_SAFE_INTEGER].map((boundary) =>
      cursors.encode({ ...cursor, boundary, range: { first: 1, last: boundary } }, scope),
    );
    expect(new Set(texts.map(({ length }) => length))).toEqual(new Set([86]));
  });

  it('is the same text for the same row, so that answers compare as equal', () => {
    expect(cursors.encode(cursor, scope)).toBe(cursors.encode({ ...cursor }, { ...scope }));
  });

  it('is ignored with another key, and with the form of earlier versions', () => {
    const other = new Cursors('another-key-of-tests-that-is-long');
    expect(other.decode(cursors.encode(cursor, scope), scope)).toBeUndefined();
    const earlier = Buffer.from('["after",42,1770033600123,99]').toString('base64url');
    expect(cursors.decode(`${earlier}.${'A'.repeat(22)}`, scope)).toBeUndefined();
  });

  it.each([
    ['another user', { userId: 'bbbbbbbb-bbbb-4bbb-bbbb-bbbbbbbbbbbb' }],
    ['another list', { list: 'subscriptions' }],
    ['another since', { since: '2026-01-01T00:00:00.001Z' }],
    ['no since', { since: undefined }],
  ])('is ignored with %s', (_, foreign) => {
    expect(cursors.decode(cursors.encode(cursor, scope), { ...scope, ...foreign })).toBeUndefined();
  });

  it('is ignored if any character was altered', () => {
    const text = cursors.encode(cursor, scope);
    fc.assert(
      fc.property(
        fc.nat(text.length - 1),
        fc.string({ minLength: 1, maxLength: 1 }),
        (index, character) => {
          fc.pre(text[index] !== character);
          const altered = text.slice(0, index) + character + text.slice(index + 1);
          expect(cursors.decode(altered, scope)).toBeUndefined();
        },
      ),
    );
  });

  it('is ignored if it is any other text', () => {
    for (const text of [
      '',
      '.',
      'x',
      'x.y.z',
      `${cursors.encode(cursor, scope)}.`,
      ` ${cursors.encode(cursor, scope)}`,
    ])
      expect(cursors.decode(text, scope)).toBeUndefined();
    fc.assert(fc.property(fc.string(), (text) => cursors.decode(text, scope) === undefined));
  });
});
