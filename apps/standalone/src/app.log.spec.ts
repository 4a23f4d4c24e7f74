import { describe, expect, it } from 'vitest';
import { shownLine } from './app.log.js';

describe('shownLine', () => {
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
    [
      'says what is missing',
      '{"level":"warn","msg":"waiting","missing":["a","b"]}',
      'warn: waiting (a; b)',
    ],
    [
      'keeps a warning about one request to the file',
      '{"level":"warn","msg":"failed","requestId":"r1"}',
      undefined,
    ],
    [
      'says an error of one request',
      '{"level":"error","msg":"failed","requestId":"r1"}',
      'error: failed',
    ],
  ])('%s', (_rule, line, text) => {
    expect(shownLine(line)).toEqual(text === undefined ? undefined : { text });
  });

  it.each([
    [
      'the start of an outage with its cause',
      '{"level":"warn","outage":"Redis","err":{"message":"ECONNRESET"}}',
      { outage: 'Redis', isEnd: false, reason: 'ECONNRESET' },
    ],
    [
      'its end',
      '{"level":"info","outage":"Redis"}',
      { outage: 'Redis', isEnd: true, reason: undefined },
    ],
  ])('finds %s', (_rule, line, found) => {
    expect(shownLine(line)).toEqual(found);
  });
});
