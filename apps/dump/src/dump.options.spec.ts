import { describe, expect, it } from 'vitest';
import { type DumpOptions, readOptions, UsageError } from './dump.options.js';

const everybody = { users: undefined, shard: { index: 0, of: 1 }, out: undefined };

describe('the command line of dump', () => {
  it.each<[string, DumpOptions]>([
    ['', everybody],
    ['--out a.ndjson.gz', { ...everybody, out: 'a.ndjson.gz' }],
    ['--users some.ndjson', { ...everybody, users: 'some.ndjson' }],
    ['--shard 3/16', { ...everybody, shard: { index: 2, of: 16 } }],
  ])('understands "%s"', (line, options) => expect(readOptions(line.split(' ').filter(Boolean))).toEqual(options));

  it.each([
    ['--shard 0/4', 'with I from 1 to N'],
    ['--shard 5/4', 'with I from 1 to N'],
    ['--shard 1', 'with I from 1 to N'],
    ['--shard 1/2 --users a', 'either --users or --shard'],
    ['--all', '--all'],
    ['a.ndjson', 'a.ndjson'],
  ])('refuses "%s": %s', (line, problem) => {
    expect(() => readOptions(line.split(' '))).toThrow(UsageError);
    expect(() => readOptions(line.split(' '))).toThrow(problem);
  });
});
