import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync, rmSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { isRunning, worksOn } from './running.process.js';
import { StartError } from './embedded.server.js';

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
  /** The server writes its pid to the first line of this file. */
  readonly pidFile: string;
  /** Receives the output. Emptied at each start. */
  readonly logFile: string;
  readonly stopSignal: NodeJS.Signals;
  /** Stops the server without a clean shutdown. It recovers its data at the next start. */
  readonly forceSignal: NodeJS.Signals;
}

const startLimitMs = 60_000;
const stopLimitMs = 20_000;

/**
 * A running server in a separate process.
 * - It leads a process group: Ctrl-C in a terminal reaches the starter and not the server, which
 *   stops after its clients.
 * - It survives a killed starter; {@link stopOrphan} finds it by its pid and data directory.
 */
export class ServerProcess {
  /** Resolves after the end of the server: `exit code 1`, `signal SIGKILL`. */
  readonly exited: Promise<string>;
  private end: string | undefined;

  private constructor(
    private readonly program: ServerProgram,
    private readonly child: ChildProcess,
  ) {
    this.exited = new Promise((resolve) => {
      const settle = (how: string) => {
        this.end = how;
        resolve(how);
      };
      child.once('error', (error) => settle(error.message));
      child.once('exit', (code, signal) =>
        settle(signal ? `signal ${signal}` : `exit code ${code}`),
      );
    });
    // A running server must not keep its starter alive.
    child.unref();
  }

  /**
   * Starts a server and waits until it accepts requests.
   *
   * @throws StartError with the last lines of the server's output.
   */
  static async start(
    program: ServerProgram,
    serves: () => Promise<unknown>,
  ): Promise<ServerProcess> {
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
    await server.waitUntil(serves);
    return server;
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  /** Stops the server by `stopSignal`, after 20 seconds by `forceSignal`. */
  async stop(): Promise<void> {
    if (this.end !== undefined) return;
    await stopProcess(this.program, this.pid, () => this.end === undefined);
  }

  private async waitUntil(serves: () => Promise<unknown>): Promise<void> {
    const deadline = performance.now() + startLimitMs;
    let problem: unknown;
    while (this.end === undefined && performance.now() < deadline) {
      try {
        // If another program listens on the port, it can leave the request unanswered.
        if (await Promise.race([serves().then(() => true), this.exited.then(() => false)])) return;
      } catch (error) {
        problem = error;
        await delay(20);
      }
    }
    const how =
      this.end === undefined ? `doesn't answer (${String(problem)})` : `ended with ${this.end}`;
    await this.stop();
    throw new StartError(
      `${this.program.name} could not be started: it ${how}.\n${lastLines(this.program.logFile)}`,
    );
  }
}

/**
 * Stops the server that a killed starter left on a data directory. Removes a stale pid file: after
 * a reboot or a restart of the container its pid can belong to any process.
 *
 * @returns true if it stopped a server.
 */
export async function stopOrphan(
  program: Pick<ServerProgram, 'name' | 'data' | 'pidFile' | 'stopSignal' | 'forceSignal'>,
): Promise<boolean> {
  if (!existsSync(program.pidFile)) return false;
  const pid = Number.parseInt(readFileSync(program.pidFile, 'utf8'), 10);
  if (!(pid > 0 && worksOn(pid, program.data))) {
    rmSync(program.pidFile, { force: true });
    return false;
  }
  await stopProcess(program, pid, () => isRunning(pid));
  return true;
}

async function stopProcess(
  program: Pick<ServerProgram, 'name' | 'stopSignal' | 'forceSignal'>,
  pid: number,
  running: () => boolean,
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
      if (!running()) return;
      await delay(20);
    }
  }
}

function lastLines(file: string): string {
  return readFileSync(file, 'utf8').trim().split('\n').slice(-8).join('\n');
}
