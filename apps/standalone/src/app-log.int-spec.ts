import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AppLog } from './app-log.js';
import { Outages } from './outages.js';

const outages = new Outages(
  () => {},
  () => false,
);
let directory: string;
let path: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'app-log-'));
  path = join(directory, 'app.log');
});
afterEach(() => rmSync(directory, { recursive: true }));

describe('AppLog', () => {
  it('stores every line in an initially empty file, and prints those for people', async () => {
    writeFileSync(path, 'of an earlier start\n');
    const said: string[] = [];
    const log = new AppLog('episode', path, (line) => said.push(line), outages);
    const written = ['{"level":"info","msg":"ready"}', '{"level":"warn","msg":"slow"}'];
    await log.logStream(Readable.from([written.join('\n')]));
    expect(readFileSync(path, 'utf8').trim().split('\n')).toEqual(written);
    expect(said).toEqual(['episode: warn: slow']);
  });

  it('joins lines that reads have split', async () => {
    const said: string[] = [];
    const log = new AppLog('episode', path, (line) => said.push(line), outages);
    const [line, rest] = ['{"level":"warn","msg":"slöw"}', 'of a crash'];
    const bytes = Buffer.from(`${line}\n\n${line}\n${rest}`);
    await log.logStream(
      Readable.from(
        [...bytes].map((byte) => Buffer.of(byte)),
        { objectMode: false },
      ),
    );
    expect(readFileSync(path, 'utf8')).toBe(`${line}\n\n${line}\n${rest}\n`);
    expect(said).toEqual(['warn: slöw', 'warn: slöw', rest].map((text) => `episode: ${text}`));
  });

  it('can be read by its owner only, also after an earlier version wrote it', async () => {
    const folder = join(directory, 'logs');
    mkdirSync(folder, { mode: 0o755 });
    writeFileSync(join(folder, 'app.log'), 'of an earlier version\n', { mode: 0o644 });
    const log = new AppLog('episode', join(folder, 'app.log'), () => {}, outages, 10);
    await log.logStream(
      Readable.from(['{"level":"info","msg":"one"}\n', '{"level":"info","msg":"two"}']),
    );
    const modes = [folder, join(folder, 'app.log'), join(folder, 'app.log.1')].map(
      (each) => statSync(each).mode & 0o777,
    );
    expect(modes).toEqual([0o700, 0o600, 0o600]);
  });

  it('limits the size of the file and the rotated one', async () => {
    const log = new AppLog('episode', path, () => {}, outages, 1_000);
    const lines = Array.from({ length: 500 }, (_, i) => `{"level":"info","msg":"line ${i}"}\n`);
    await log.logStream(Readable.from(lines));
    expect(readdirSync(directory).toSorted()).toEqual(['app.log', 'app.log.1']);
    expect(statSync(path).size + statSync(`${path}.1`).size).toBeLessThan(2_200);
    expect(readFileSync(path, 'utf8')).toContain('line 499');
  });

  it('continues in a new file after the file was deleted', async () => {
    const log = new AppLog('episode', path, () => {}, outages, 10);
    await log.logStream(Readable.from(['{"level":"info","msg":"one"}\n']));
    rmSync(path);
    await log.logStream(Readable.from(['{"level":"info","msg":"two"}\n']));
    expect(readFileSync(path, 'utf8')).toBe('{"level":"info","msg":"two"}\n');
  });

  it('prints once that lines cannot be written, shows them, and writes later ones', async () => {
    const said: string[] = [];
    const log = new AppLog('episode', path, (line) => said.push(line), outages, 10);
    const logLine = (line: string) => log.logStream(Readable.from([`${line}\n`]));
    await logLine('{"level":"info","msg":"one"}');
    rmSync(directory, { recursive: true });
    await logLine('second line');
    await logLine('third line');
    expect(said).toEqual([
      expect.stringMatching(/^episode: lines of its log are lost, .*ENOENT/),
      'episode: second line',
      'episode: third line',
    ]);
    mkdirSync(directory);
    await logLine('fourth line');
    expect(readFileSync(path, 'utf8')).toBe('fourth line\n');
  });
});
