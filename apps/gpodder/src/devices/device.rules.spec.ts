import { describe, expect, it } from 'vitest';
import { parseDevice } from './device.rules.js';

describe('readDevice', () => {
  it('returns only sent properties', () => {
    expect(parseDevice({})).toEqual({});
    expect(parseDevice({ type: 'tablet', other: 1 })).toEqual({ type: 'mobile' });
    expect(parseDevice({ caption: ' My\nphone ' })).toEqual({ caption: 'My phone' });
  });

  it('cuts a caption to 100 characters', () => {
    expect(parseDevice({ caption: 'x'.repeat(101) })).toEqual({ caption: 'x'.repeat(100) });
    expect(parseDevice({ caption: '😀'.repeat(101) })).toEqual({ caption: '😀'.repeat(100) });
  });

  it.each([
    { caption: '' },
    { caption: ' ' },
    { caption: 1 },
    { caption: null },
    { type: 'x' },
    { type: null },
  ])('rejects %j', (sent) => expect(() => parseDevice(sent)).toThrow('invalid'));
});
