import { describe, expect, it } from 'vitest';
import { readableLine } from './app-log.js';

describe('readableLine', () => {
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
    [
      'returns the problems',
      '{"level":"warn","msg":"waiting","problems":["a","b"]}',
      'warn: waiting (a; b)',
    ],
    [
      'omits a warning about one request',
      '{"level":"warn","msg":"failed","correlationId":"r1"}',
      undefined,
    ],
    [
      'omits a warning about one message',
      '{"level":"warn","msg":"failed","requestId":"r1"}',
      undefined,
    ],
    [
      'returns an error of one request',
      '{"level":"error","msg":"failed","correlationId":"r1"}',
      'error: failed',
    ],
  ])('%s', (_rule, line, text) => {
    expect(readableLine(line)).toEqual(text === undefined ? undefined : { text });
  });

  it.each([
    [
      'the start of an outage with its cause',
      '{"level":"warn","outage":"Redis","err":{"message":"ECONNRESET"}}',
      { outage: 'Redis', isEnd: false, reason: 'ECONNRESET' },
    ],
    [
      'the end of an outage',
      '{"level":"info","outage":"Redis"}',
      { outage: 'Redis', isEnd: true, reason: undefined },
    ],
  ])('returns %s', (_rule, line, expected) => {
    expect(readableLine(line)).toEqual(expected);
  });
});
