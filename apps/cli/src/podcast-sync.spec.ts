import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { KeyFiles } from '#embedded';
import { callProgram } from '#testing';
import type { CommandDefinition } from './command.js';
import { commands } from './commands.js';
import { dataEnvironment } from './data-environment.js';
import { podcastSync, readCommandLine } from './podcast-sync.js';

const run = (line: string, env: NodeJS.ProcessEnv = {}) =>
  callProgram(podcastSync, line.split(' ').filter(Boolean), env);

const all = commands.flatMap((one): [string, CommandDefinition][] =>
  'commands' in one
    ? one.commands.map((inner) => [`${one.name} ${inner.name}`, inner])
    : [[one.name, one]],
);

describe('help', () => {
  it.each(all)('of %s has a valid example and the exit codes', async (path, { examples }) => {
    const { code, stdout, stderr } = await run(`${path} --help`);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toContain(`Usage: podcast-sync ${path}`);
    expect(stdout).toContain('2 invalid command line, 78 invalid environment');
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
  });

  it.each(['--help', 'help'])('%s lists all commands', async (line) => {
    const { code, stdout } = await run(line);
    expect(code).toBe(0);
    for (const { name } of commands) expect(stdout).toMatch(new RegExp(`^  ${name} `, 'm'));
  });
});

describe('an invalid command line exits with 2, and prints the fault and a help command', () => {
  it.each([
    [
      'dumb',
      "podcast-sync: unknown command 'dumb'\n(Did you mean dump?)\nSee: podcast-sync --help\n",
    ],
    ['dump --all', "dump: unknown option '--all'\nSee: podcast-sync dump --help\n"],
    [
      'accounts erase a b',
      "accounts: too many arguments for 'erase'. Expected 1 argument but got 2.\n" +
        'See: podcast-sync accounts erase --help\n',
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

  it.each(['', 'accounts', 'keys', 'deletions'])('prints the commands for "%s"', async (line) => {
    const { code, stdout, stderr } = await run(line);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain('Commands:');
  });
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

  it('sets variables to the files of the directory', () => {
    expect(dataEnvironment({ X: 'x' }, files, named(false))).toEqual({ X: 'x', ...ofDirectory() });
  });

  it.each([
    [{ REDIS_URL: 'r' }, 'DATABASE_URL_FILE'],
    [{ REDIS_CLUSTER: 'r' }, 'DATABASE_URL_FILE'],
    [{ DATABASE_URL_FILE: 'd' }, 'REDIS_URL_FILE'],
  ] as const)('keeps variables that are set: %j', (environment, filled) => {
    const { [filled]: file } = ofDirectory();
    expect(dataEnvironment(environment, files, named(true))).toEqual({
      ...environment,
      [filled]: file,
    });
  });

  it('is ignored if the server is set and no directory is named', () => {
    expect(dataEnvironment({ DATABASE_URL: 'd' }, files, named(false))).toEqual({
      DATABASE_URL: 'd',
    });
  });

  it('exits with 78 and names the file if the directory lacks it', async () => {
    const { code, stderr } = await run('dump --data /nowhere');
    expect([code, stderr]).toEqual([
      78,
      'dump: /nowhere/dump-database-url not found: run "podcast-sync start" first, ' +
        'pass --data DIR, or set DATABASE_URL\n' +
        'See: podcast-sync dump --help\n',
    ]);
  });

  it.each(['keys list', 'keys rotate', 'keys rotate --now'])(
    'exits with 78 and creates nothing if the directory has no system: %s',
    async (line) => {
      const { code, stdout, stderr } = await run(`${line} --data ${directory}`);
      expect([code, stdout, stderr]).toEqual([
        78,
        '',
        `keys: ${directory}/keys/account/signing-key.json not found: ` +
          'run "podcast-sync start" first, or pass --data DIR\n' +
          'See: podcast-sync keys --help\n',
      ]);
      expect(readdirSync(directory).sort()).toEqual(Object.values(files));
    },
  );

  it('rotates the keys of a directory with a system', async () => {
    const system = mkdtempSync(join(directory, 'system-'));
    const [key] = (await KeyFiles.open(join(system, 'keys', 'account'))).keys();
    const { code, stdout } = await run(`keys rotate --data ${system}`);
    expect([code, stdout]).toEqual([0, expect.stringContaining(`${key?.kid}  replaced`)]);
    rmSync(system, { recursive: true });
  });
});
