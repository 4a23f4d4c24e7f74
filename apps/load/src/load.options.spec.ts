import { describe, expect, it } from 'vitest';
import { readOptions, UsageError } from './load.options.js';

describe('the command line of load', () => {
  it('names files, and how many users are on their way', () => {
    expect(readOptions(['a', 'b', '--parallel', '4'])).toEqual({ files: ['a', 'b'], parallel: 4 });
    expect(readOptions(['a', '--refused', 'r', '--progress', 'p'])).toMatchObject({ refused: 'r', progress: 'p' });
  });

  it.each([
    [[]],
    [['--help']],
    [['a', '--parallel', '0']],
    [['a', '--parallel', '33']],
    [['a', '--parallel', 'x']],
    [['a', 'b', '--refused', 'r']],
    [['a', 'b', '--progress', 'p']],
    [['-', '--progress', 'p']],
    [['a', '--other']],
  ])('is not understood: %j', (args) => expect(() => readOptions(args)).toThrow(UsageError));
});
