import { describe, expect, it } from 'vitest';
import { readableText } from './app.log.js';

describe('readableText', () => {
  it.each([
    ['omits a routine line', '{"level":"info","msg":"ready"}', undefined],
    ['returns a warning', '{"level":"warn","msg":"slow"}', 'warn: slow'],
    [
      'returns an error with its cause',
      '{"level":"error","msg":"lost","err":{"message":"ECONNRESET"}}',
      'error: lost (ECONNRESET)',
    ],
    [
      'returns a cause once',
      '{"level":"fatal","msg":"lost","err":{"message":"lost"}}',
      'fatal: lost',
    ],
    [
      'returns a line other than a log line',
      'Error: Cannot find module',
      'Error: Cannot find module',
    ],
    ['returns a line that only resembles a log line', '{oops', '{oops'],
    ['omits an empty line', '  ', undefined],
  ])('%s', (_rule, line, text) => {
    expect(readableText(line)).toBe(text);
  });
});
