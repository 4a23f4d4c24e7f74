import { describe, expect, test } from 'vitest';
import { type Captures, mismatch } from './match.rules.js';

function captured(pattern: unknown, actual: unknown): Captures | string {
  const captures: Captures = {};
  return mismatch(pattern, actual, captures) ?? captures;
}

describe('mismatch', () => {
  test('an object can have more fields than its pattern, an array no more items', () => {
    expect(captured({ a: 1 }, { a: 1, b: 2 })).toEqual({});
    expect(captured([1], [1, 2])).toContain('body is [1,2], expected [1]');
    expect(captured({ a: [{ b: 1 }] }, { a: [{ b: 2 }] })).toBe('body.a[0].b is 2, expected 1');
  });

  test('a wildcard captures what it matches', () => {
    const guid = '9b024349-ccf0-5f69-a609-6b82873eab3c';
    expect(captured({ guid: '$uuid as g' }, { guid })).toEqual({ g: guid });
    expect(captured({ guid: '$uuid' }, { guid: 'none' })).toContain('expected "$uuid"');
    expect(() => captured('$colour', 'red')).toThrow('unknown wildcard $colour');
  });

  test('absent fits null, and empty a missing array', () => {
    expect(captured({ a: '$absent', b: '$empty' }, { a: null })).toEqual({});
    expect(captured({ b: '$empty' }, { b: [1] })).toContain('body.b');
  });

  test('$has finds rows in any order and captures those of matching rows only', () => {
    const rows = [
      { n: 1, id: 'x' },
      { n: 2, id: 'y' },
    ];
    expect(captured({ $has: [{ n: 2, id: '$text as id' }] }, rows)).toEqual({ id: 'y' });
    expect(captured({ $has: [{ n: 3, id: '$text as id' }] }, rows)).toContain('body[]');
    expect(captured({ $has: [1] }, undefined)).toContain('absent');
  });

  test('$lacks, $each and $size compare rows', () => {
    expect(captured({ $lacks: 2 }, [1, 3])).toEqual({});
    expect(captured({ $lacks: 1 }, [1, 3])).toContain('$lacks');
    expect(captured({ $each: '$number' }, [1, 'b'])).toContain('"b"');
    expect(captured({ $each: '$number' }, undefined)).toContain('absent');
    expect(captured({ $size: 2 }, [1, 3])).toEqual({});
  });

  test('$or takes the first that matches, $not refuses it', () => {
    expect(captured({ $or: ['404', '$integer as code'] }, 404)).toEqual({ code: 404 });
    expect(captured({ $not: { $or: ['a', 'b'] } }, 'c')).toEqual({});
    expect(captured({ $not: 'a' }, 'a')).toContain('$not');
  });

  test('times are compared as instants, and a minute without a zone is in UTC', () => {
    expect(captured({ $minute: '2024-06-19T15:46' }, '2024-06-19T17:46:59+02:00')).toEqual({});
    expect(captured({ $after: '2024-06-19T15:46:00Z' }, '2024-06-19T15:46')).toContain('$after');
    expect(captured({ $after: '2024-06-19T15:45:59Z' }, '2024-06-19T15:46')).toEqual({});
    expect(captured({ $after: '2024-06-19T15:46:00Z' }, '2024-06-30T15:46:00')).toContain('$after');
    expect(captured({ $after: '2024-06-19T15:46:00Z' }, 'yesterday')).toContain('$after');
  });
});
