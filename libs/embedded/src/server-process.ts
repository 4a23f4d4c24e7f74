import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync, rmSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { isRunning, usesDirectory } from './process-inspection.js';
import { StartError } from './embedded-server.js';

/** The user that a server runs as, if it differs from the user of this process. */
export interface SystemUser {
  readonly uid: number;
  readonly gid: number;
}

/** A server program with its files and stop signals. */
export interface ServerProgram {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  readonly account?: SystemUser;
  /** The directory of the server's data, as an absolute path. */
  readonly data: string;
  /** The file whose first line is the process id of the server. The server writes the file. */
  readonly pidFile: string;
  /** The file for the server's output, emptied at each start. */
  readonly logFile: string;
  readonly stopSignal: NodeJS.Signals;
  /** The signal to stop the server without a clean shutdown. The next start recovers the data. */
  readonly forceSignal: NodeJS.Signals;
  /** Returns true for the error of a server that is still starting, such as during recovery. */
  readonly isStarting?: (error: unknown) => boolean;
}

/** Maximum milliseconds until a server is ready, from its last error for which `isStarting`. */
const startLimitMs = 60_000;
/** Milliseconds between the signals of a stop. Postgres needs time to write changed pages. */
export const stopLimitMs = 40_000;

/**
 * A running server in a separate process.
 * - The server has its own process group. Ctrl-C in a terminal does not reach the server, which has
 *   to stop after its clients.
 * - The server keeps running if the process that started it is killed. {@link stopOrphan} finds the
 *   server by its pid and data directory.
 */
export class ServerProcess {
  /** Resolves after the end of the server, to `exit code 1` or `signal SIGKILL`. */
  readonly exited: Promise<string>;
  private exitReason: string | undefined;

  private constructor(
    private readonly program: ServerProgram,
    private readonly child: ChildProcess,
  ) {
    this.exited = new Promise((resolve) => {
      const settle = (reason: string) => {
        this.exitReason = reason;
        resolve(reason);
      };
      child.once('error', (error) => settle(error.message));
      child.once('exit', (code, signal) =>
        settle(signal ? `signal ${signal}` : `exit code ${code}`),
      );
    });
    // A running server must not keep this process alive.
    child.unref();
  }

  /**
   * Starts a server and waits until it is ready. An abort of `stopped` during the wait stops it.
   *
   * @param checkReady rejects until the server accepts requests.
   * @throws StartError with the last lines of the server's output.
   */
  static async start(
    program: ServerProgram,
    checkReady: () => Promise<unknown>,
    stopped?: AbortSignal,
  ): Promise<ServerProcess> {
    stopped?.throwIfAborted();
    rmSync(program.logFile, { force: true });
    const log = openSync(program.logFile, 'a', 0o600);
    const child = spawn(program.command, program.args, {
      ...program.account,
      cwd: program.data,
      env: program.env,
      detached: true,
      stdio: ['ignore', log, log],
    });
    closeSync(log);
    const server = new ServerProcess(program, child);
    await server.waitUntilReady(checkReady, stopped);
    return server;
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  /** Sends `stopSignal`, and `forceSignal` if the server still runs after 40 seconds. */
  async stop(): Promise<void> {
    if (this.exitReason !== undefined) return;
    await stopProcess(this.program, this.pid, () => this.exitReason === undefined);
  }

  private async waitUntilReady(
    checkReady: () => Promise<unknown>,
    stopped: AbortSignal = new AbortController().signal,
  ): Promise<void> {
    let deadline = performance.now() + startLimitMs;
    let lastError: unknown;
    // These events also end the wait for an answer: another program on the port may never answer.
    const interrupted = Promise.race([this.exited, once(stopped, 'abort')]).then(() => false);
    while (this.exitReason === undefined && !stopped.aborted && performance.now() < deadline) {
      try {
        if (await Promise.race([checkReady().then(() => true), interrupted])) return;
      } catch (error) {
        lastError = error;
        // A recovery can take any time, and an interrupted one starts from the beginning.
        if (this.program.isStarting?.(error)) deadline = performance.now() + startLimitMs;
        await delay(20);
      }
    }
    const failure =
      this.exitReason === undefined
        ? `doesn't answer (${String(lastError)})`
        : `ended with ${this.exitReason}`;
    await this.stop();
    stopped.throwIfAborted();
    throw new StartError(
      `${this.program.name} could not be started: it ${failure}.\n` +
        readLastLines(this.program.logFile),
    );
  }
}

/**
 * Stops the server that a killed process left on a data directory. Removes a stale pid file: after
 * a reboot or a restart of the container, the pid in the file can belong to any process.
 *
 * @returns true if a server was stopped.
 */
export async function stopOrphan(
  program: Pick<ServerProgram, 'name' | 'data' | 'pidFile' | 'stopSignal' | 'forceSignal'>,
): Promise<boolean> {
  if (!existsSync(program.pidFile)) return false;
  const pid = Number.parseInt(readFileSync(program.pidFile, 'utf8'), 10);
  if (!(pid > 0 && usesDirectory(pid, program.data))) {
    rmSync(program.pidFile, { force: true });
    return false;
  }
  await stopProcess(program, pid, () => isRunning(pid));
  return true;
}

async function stopProcess(
  program: Pick<ServerProgram, 'name' | 'stopSignal' | 'forceSignal'>,
  pid: number,
  isStillRunning: () => boolean,
): Promise<void> {
  for (const signal of [program.stopSignal, program.forceSignal, 'SIGKILL'] as const) {
    try {
      process.kill(pid, signal);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ESRCH') return;
      throw new StartError(
        `${program.name} (process ${pid}) can't be stopped: ${(error as Error).message}`,
      );
    }
    const deadline = performance.now() + stopLimitMs;
    while (performance.now() < deadline) {
      if (!isStillRunning()) return;
      await delay(20);
    }
  }
}

function readLastLines(file: string): string {
  return readFileSync(file, 'utf8').trim().split('\n').slice(-8).join('\n');
}
