import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repository, startProgram } from '#testing';
import { expect, it } from 'vitest';
import { commands } from './commands.js';

const { bin, scripts } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as {
  bin: Record<string, string>;
  scripts: Record<string, string>;
};

// Help usually takes a tenth of a second, as it loads no implementations of commands.
it.each([['--help'], ['start --help']])(
  'prints help in less than a second: %s',
  { timeout: 1_000 },
  async (line) => {
    expect(await startProgram('podcast-sync', line.split(' '), {})).toMatchObject({
      code: 0,
      stderr: '',
    });
  },
);

it('exits with 0 if its reader ends early', () => {
  const program = join(repository, 'dist', 'programs', 'podcast-sync.js');
  const exitOf = (script: string) =>
    spawnSync('bash', ['-c', script, 'bash', process.execPath, program]).status;
  expect(exitOf('set -o pipefail; "$1" "$2" --help | true')).toBe(0);
});

it('is the program of the package; the script of each command builds it first', () => {
  const program = 'dist/programs/podcast-sync.js';
  expect(bin).toEqual({ 'podcast-sync': program });
  const ofNpm = commands
    .map(({ name }) => name)
    .filter((name) => !['start', 'migrate', 'secrets'].includes(name));
  for (const name of ofNpm)
    expect(scripts[name]).toBe(
      `test -f ${program} || npm run -s build >&2; exec node ${program} ${name}`,
    );
});
