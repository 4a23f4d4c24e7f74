import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '#testing';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { StartError } from './embedded-server.js';
import { isRunning } from './process-inspection.js';
import { ServerProcess, type ServerProgram } from './server-process.js';

const starting = Object.assign(new Error('the database system is starting up'), { code: '57P03' });

const writePid = "require('node:fs').writeFileSync('pid', String(process.pid));";

let data: string;
let program: ServerProgram;

beforeEach(() => {
  data = mkdtempSync(join(tmpdir(), 'server-process-'));
  program = {
    name: 'Server',
    command: process.execPath,
    args: ['-e', 'setInterval(() => {}, 1000)'],
    data,
    pidFile: join(data, 'pid'),
    logFile: join(data, 'log'),
    stopSignal: 'SIGTERM',
    forceSignal: 'SIGKILL',
    isStarting: (error) => error === starting,
  };
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(data, { recursive: true, force: true });
});

/** Returns a check that takes 30 s of a simulated clock and fails `failures` times. */
function failingCheck(failures: number, error: Error) {
  let elapsedMs = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => elapsedMs);
  let calls = 0;
  return async () => {
    elapsedMs += 30_000;
    if ((calls += 1) <= failures) throw error;
  };
}

describe('the start of a server', () => {
  it('waits as long as the server recovers its data', async () => {
    const server = await ServerProcess.start(program, failingCheck(10, starting));
    await server.stop();
    expect(await server.exited).toBe('signal SIGTERM');
  });

  it('fails after a minute with other errors, and stops the server', async () => {
    const failure = await ServerProcess.start(program, failingCheck(10, new Error('no'))).catch(
      (error: unknown) => error,
    );
    expect(failure).toBeInstanceOf(StartError);
    expect((failure as StartError).message).toContain("doesn't answer (Error: no)");
  });

  it('ends when it is aborted, and stops the server', async () => {
    const stopping = new AbortController();
    const started = ServerProcess.start(
      { ...program, args: ['-e', `${writePid} setInterval(() => {}, 1000)`] },
      // Never answers, as another program on the port can do.
      () => new Promise(() => {}),
      stopping.signal,
    ).catch((error: unknown) => error);
    const pid = await eventually(() => {
      const text = readFileSync(program.pidFile, 'utf8');
      expect(text).not.toBe('');
      return Number(text);
    });
    stopping.abort(new StartError('stopped'));
    expect(await started).toEqual(new StartError('stopped'));
    expect(isRunning(pid)).toBe(false);
  });
});
