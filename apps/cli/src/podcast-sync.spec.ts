import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callProgram } from '#testing';
import type { CommandDefinition } from './command.js';
import { commands } from './commands.js';
import { dataEnvironment } from './data.environment.js';
import { podcastSync, readCommandLine } from './podcast-sync.js';

const run = (line: string, env: NodeJS.ProcessEnv = {}) =>
  callProgram(podcastSync, line.split(' ').filter(Boolean), env);

const all = commands.flatMap((one): [string, CommandDefinition][] =>
  'commands' in one
    ? one.commands.map((inner) => [`${one.name} ${inner.name}`, inner])
    : [[one.name, one]],
);

describe('help', () => {
  it.each(all)(
    'of %s has an example that is understood, and says the exit codes',
    async (path, { examples }) => {
      const { code, stdout, stderr } = await run(`${path} --help`);
      expect([code, stderr]).toEqual([0, '']);
      expect(stdout).toContain(`Usage: podcast-sync ${path}`);
      expect(stdout).toContain('2 not understood, 78 no usable environment');
      expect(examples.length).toBeGreaterThan(0);
      for (const example of examples) {
        expect(stdout).toContain(`  podcast-sync ${example}`);
        const words = example.match(/"[^"]*"|\S+/g)?.map((word) => word.replaceAll('"', '')) ?? [];
        const { code: exitCode } = await callProgram(
          async (args, io) => (typeof (await readCommandLine(args, io)) === 'number' ? 1 : 0),
          words,
          {},
        );
        expect([example, exitCode]).toEqual([example, 0]);
      }
    },
  );

  it.each(['--help', 'help'])('%s lists all commands', async (line) => {
    const { code, stdout } = await run(line);
    expect(code).toBe(0);
    for (const { name } of commands) expect(stdout).toMatch(new RegExp(`^  ${name} `, 'm'));
  });
});

describe('a command line that is not understood ends with code 2, names what is wrong and says where to look', () => {
  it.each([
    [
      'dumb',
      "podcast-sync: unknown command 'dumb'\n(Did you mean dump?)\nSee: podcast-sync --help\n",
    ],
    ['dump --all', "dump: unknown option '--all'\nSee: podcast-sync dump --help\n"],
    [
      'accounts erase a b',
      "accounts: too many arguments for 'erase'. Expected 1 argument but got 2.\nSee: podcast-sync accounts erase --help\n",
    ],
    [
      'accounts create',
      "accounts: missing required argument 'NAME'\nSee: podcast-sync accounts create --help\n",
    ],
    [
      'import --user ann',
      "import: required option '--from <URL>' not specified\nSee: podcast-sync import --help\n",
    ],
    ['load', "load: missing required argument 'FILE'\nSee: podcast-sync load --help\n"],
  ])('%s', async (line, text) => {
    const { code, stdout, stderr } = await run(line);
    expect([code, stdout, stderr]).toEqual([2, '', text]);
  });

  it.each(['', 'accounts', 'keys', 'deletions'])(
    '"%s" is answered with the commands that there are',
    async (line) => {
      const { code, stdout, stderr } = await run(line);
      expect([code, stdout]).toEqual([2, '']);
      expect(stderr).toContain('Commands:');
    },
  );
});

describe('--data', () => {
  let directory: string;
  const files = { DATABASE_URL: 'database-url', REDIS_URL: 'redis-url' };
  const named = (isNamed: boolean) => ({ directory, isNamed });
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'data-'));
    for (const file of Object.values(files)) writeFileSync(join(directory, file), '');
  });
  afterAll(() => rmSync(directory, { recursive: true }));
  const ofDirectory = () => ({
    DATABASE_URL_FILE: join(directory, 'database-url'),
    REDIS_URL_FILE: join(directory, 'redis-url'),
  });

  it('fills in what its files say', () => {
    expect(dataEnvironment({ X: 'x' }, files, named(false))).toEqual({ X: 'x', ...ofDirectory() });
  });

  it.each([
    [{ REDIS_URL: 'r' }, 'DATABASE_URL_FILE'],
    [{ REDIS_CLUSTER: 'r' }, 'DATABASE_URL_FILE'],
    [{ DATABASE_URL_FILE: 'd' }, 'REDIS_URL_FILE'],
  ] as const)('leaves variables that are set: %j', (environment, filled) => {
    const { [filled]: file } = ofDirectory();
    expect(dataEnvironment(environment, files, named(true))).toEqual({
      ...environment,
      [filled]: file,
    });
  });

  it('is of no matter where the server is set and no directory is named', () => {
    expect(dataEnvironment({ DATABASE_URL: 'd' }, files, named(false))).toEqual({
      DATABASE_URL: 'd',
    });
  });

  it('of which nothing is known is an error with code 78 that names the file', async () => {
    const { code, stderr } = await run('dump --data /nowhere');
    expect([code, stderr]).toEqual([
      78,
      'dump: no system has run on /nowhere, as there is no /nowhere/dump-database-url: ' +
        'say --data DIR, or set DATABASE_URL\nSee: podcast-sync dump --help\n',
    ]);
  });
});
