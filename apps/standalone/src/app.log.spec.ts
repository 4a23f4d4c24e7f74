import { describe, expect, it } from 'vitest';
import { wordsFor } from './app.log.js';

describe('wordsFor', () => {
  it.each([
    ['keeps what is routine to the file', '{"level":"info","msg":"ready"}', undefined],
    ['says a warning', '{"level":"warn","msg":"slow"}', 'warn: slow'],
    [
      'says an error with its cause',
      '{"level":"error","msg":"lost","err":{"message":"ECONNRESET"}}',
      'error: lost (ECONNRESET)',
    ],
    ['says a cause once', '{"level":"fatal","msg":"lost","err":{"message":"lost"}}', 'fatal: lost'],
    ['says what is no log line', 'Error: Cannot find module', 'Error: Cannot find module'],
    ['says what only looks like one', '{oops', '{oops'],
    ['says no empty line', '  ', undefined],
  ])('%s', (_rule, line, words) => {
    expect(wordsFor(line)).toBe(words);
  });
});
