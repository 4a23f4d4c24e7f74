import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { formatDuration, ProgressLine } from './program-io.js';

describe('progress', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it.each([
    [undefined, 'load: 1\nload: 2\n'],
    [true, '\r\u001B[K1\r\u001B[K2\r\u001B[K'],
  ])(
    'writes a line per interval, or on a terminal (%s) one line that it clears at the end',
    (isTTY, text) => {
      const stream = Object.assign(new PassThrough({ encoding: 'utf8' }), isTTY && { isTTY });
      let times = 0;
      const line = new ProgressLine(stream, 'load', () => String((times += 1)));
      vi.advanceTimersToNextTimer();
      vi.advanceTimersToNextTimer();
      line.end();
      vi.advanceTimersByTime(60_000);
      expect(stream.read()).toBe(text);
    },
  );
});

it.each([
  [12.34, '12.3 s'],
  [1_000, '17 min'],
  [9_000, '2.5 h'],
])('formatDuration(%i) is %s', (seconds, text) => expect(formatDuration(seconds)).toBe(text));
