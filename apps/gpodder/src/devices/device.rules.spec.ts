import { describe, expect, it } from 'vitest';
import { readDevice } from './device.rules.js';

describe('readDevice', () => {
  it('returns only sent properties', () => {
    expect(readDevice({})).toEqual({});
    expect(readDevice({ type: 'tablet', other: 1 })).toEqual({ type: 'mobile' });
    expect(readDevice({ caption: ' My\nphone ' })).toEqual({ caption: 'My phone' });
  });

  it('cuts a caption to 100 characters', () => {
    expect(readDevice({ caption: 'x'.repeat(101) })).toEqual({ caption: 'x'.repeat(100) });
    expect(readDevice({ caption: '😀'.repeat(101) })).toEqual({ caption: '😀'.repeat(100) });
  });

  it.each([
    { caption: '' },
    { caption: ' ' },
    { caption: 1 },
    { caption: null },
    { type: 'x' },
    { type: null },
  ])('rejects %j', (sent) => expect(() => readDevice(sent)).toThrow('invalid'));
});
