import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { repository, startProgram } from '#testing';
import { expect, it } from 'vitest';
import { commands } from './commands.js';

const { bin, scripts, version } = JSON.parse(
  readFileSync(join(repository, 'package.json'), 'utf8'),
) as {
  bin: Record<string, string>;
  scripts: Record<string, string>;
  version: string;
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

it('prints the version of the package', async () => {
  expect(await startProgram('podcast-sync', ['--version'], {})).toMatchObject({
    code: 0,
    stdout: `${version}\n`,
  });
});

it('exits with 0 if its reader ends early', () => {
  const program = join(repository, 'dist', 'programs', 'podcast-sync.js');
  const exitOf = (script: string) =>
    spawnSync('bash', ['-c', script, 'bash', process.execPath, program]).status;
  expect(exitOf('set -o pipefail; "$1" "$2" --help | true')).toBe(0);
});

it('is the program of the package, and each command has a script that runs it', () => {
  expect(bin).toEqual({ 'podcast-sync': 'dist/programs/podcast-sync.js' });
  const ofNpm = commands
    .map(({ name }) => name)
    .filter((name) => !['start', 'migrate', 'secrets'].includes(name));
  for (const name of ofNpm) expect(scripts[name]).toBe(`exec sh apps/podcast-sync.sh ${name}`);
});

it('is built by the script of a command if there is no build, and gets the arguments', () => {
  const clone = mkdtempSync(join(tmpdir(), 'podcast-sync-clone-'));
  const program = 'console.log(JSON.stringify(process.argv.slice(2)))';
  writeFileSync(join(clone, 'program.js'), program);
  const build =
    'echo built && mkdir -p dist/programs && cp program.js dist/programs/podcast-sync.js';
  writeFileSync(join(clone, 'package.json'), JSON.stringify({ scripts: { build } }));
  const run = () => {
    const script = join(repository, 'apps', 'podcast-sync.sh');
    const { stdout, stderr } = spawnSync('sh', [script, 'token', 'a b'], {
      cwd: clone,
      encoding: 'utf8',
    });
    return [stdout, stderr];
  };
  const output = '["token","a b"]\n';
  expect([run(), run()]).toEqual([
    [output, 'built\n'],
    [output, ''],
  ]);
  rmSync(clone, { recursive: true });
});
