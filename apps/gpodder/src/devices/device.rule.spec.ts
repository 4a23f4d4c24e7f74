import { describe, expect, it } from 'vitest';
import { describedDevice } from './device.rule.js';

describe('what is said of a device', () => {
  it('is only what was sent', () => {
    expect(describedDevice({})).toEqual({});
    expect(describedDevice({ type: 'tablet', other: 1 })).toEqual({ type: 'mobile' });
    expect(describedDevice({ caption: ' My\nphone ' })).toEqual({ caption: 'My phone' });
  });

  it('has a caption of a hundred characters, none of them halved', () => {
    expect(describedDevice({ caption: 'x'.repeat(101) })).toEqual({ caption: 'x'.repeat(100) });
    expect(describedDevice({ caption: '😀'.repeat(101) })).toEqual({ caption: '😀'.repeat(100) });
  });

  it.each([
    { caption: '' },
    { caption: ' ' },
    { caption: 1 },
    { caption: null },
    { type: 'x' },
    { type: null },
  ])('is refused: %j', (said) => expect(() => describedDevice(said)).toThrow('invalid'));
});
