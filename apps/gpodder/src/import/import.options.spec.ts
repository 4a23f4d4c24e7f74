import { expect, it } from 'vitest';
import { readOptions, UsageError } from './import.options.js';

it('options say from where and for whom', () => {
  const options = readOptions(['--from', 'https://cloud.example/sub', '--user', 'ann']);
  expect(options).toMatchObject({ user: 'ann', login: 'ann', passwordFile: undefined });
  expect(options.from.href).toBe('https://cloud.example/sub/');
  expect(readOptions(['--from', 'http://a.example', '--user', 'ann', '--login', 'bob', '--insecure'])).toMatchObject({
    user: 'ann',
    login: 'bob',
  });
});

it.each([
  ['--user', 'ann'],
  ['--from', 'https://a.example'],
  ['--from', 'a.example', '--user', 'ann'],
  ['--from', 'ftp://a.example', '--user', 'ann'],
  ['--from', 'http://a.example', '--user', 'ann'],
  ['--from', 'https://ann:secret@a.example', '--user', 'ann'],
  ['--from', 'https://a.example', '--user', 'ann', '--password', 'secret'],
  ['--help'],
])('a command line that is not understood says how to write it: %s %s %s %s %s %s', (...args) => {
  expect(() => readOptions(args)).toThrow(UsageError);
});
