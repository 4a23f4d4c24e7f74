import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createLimitedSignal, type ReadyMessage, stopLimitMs as appStopLimitMs } from '#runtime';
import { StartError } from '#embedded';
import type { AppLog } from './app-log.js';
import type { ReadyProcess } from './supervised-run.js';

/** Program of an app, which the supervisor runs as a process. */
export interface AppProgram {
  /** Name of the process; each replica has its own. */
  readonly name: string;
  readonly script: string;
  readonly args?: readonly string[];
  /** Variables of the app, in addition to the inherited ones. */
  readonly environment: Readonly<Record<string, string>>;
  readonly log: AppLog;
}

/** Maximum milliseconds until a started app is ready. A slower app is killed. */
const readyTimeoutMs = 60_000;
/** Limit of an app's heap in MiB, as in a container (k8s/chart). `NODE_OPTIONS` overrides it. */
const heapLimitOption = '--max-old-space-size=384';
/** Time from SIGTERM to SIGKILL in milliseconds, longer than an app's own limit for its stop. */
export const killAfterMs = appStopLimitMs + 5_000;

/**
 * A running app.
 * - The app has its own process group. Ctrl-C in a terminal reaches only the supervisor, which then
 *   stops the apps in order.
 * - The app reports readiness over the IPC channel. The app stops when the channel closes, because
 *   the supervisor has then ended.
 */
export class SupervisedApp implements ReadyProcess {
  readonly exited: Promise<string>;
  /** Facts that the app reported when it was ready. */
  facts: Readonly<Record<string, unknown>> = {};
  private hasEnded = false;

  private constructor(private readonly child: ChildProcess) {
    this.exited = waitForEnd(child).then((endReason) => {
      this.hasEnded = true;
      return endReason;
    });
  }

  /**
   * Starts an app and waits until it is ready.
   *
   * @throws StartError if the app ends or is not ready after 60 seconds.
   */
  static async start(program: AppProgram, stopped: AbortSignal): Promise<SupervisedApp> {
    stopped.throwIfAborted();
    const child = forkApp(program);
    const app = new SupervisedApp(child);
    const readyLimit = createLimitedSignal(readyTimeoutMs, [stopped]);
    const failure = await Promise.race([
      waitForReadyMessage(child).then((facts) => void (app.facts = facts)),
      app.exited,
      once(readyLimit.signal, 'abort').then(() =>
        stopped.aborted ? 'stopped' : `not ready within ${readyTimeoutMs / 1000} s`,
      ),
    ]);
    readyLimit.release();
    if (failure === undefined) return app;
    app.kill();
    await app.exited;
    throw new StartError(
      `${program.name} did not start (${failure}); its log is ${program.log.path}`,
    );
  }

  async stop(): Promise<void> {
    if (this.hasEnded) return;
    this.child.kill('SIGTERM');
    const killTimer = setTimeout(() => this.kill(), killAfterMs);
    await this.exited;
    clearTimeout(killTimer);
  }

  kill(): void {
    this.child.kill('SIGKILL');
  }
}

/**
 * Runs an app until it ends.
 *
 * @param receiveOutput gets the standard output in pieces. If set, this output is not logged.
 * @throws StartError if the app fails.
 */
export async function runToEnd(
  program: AppProgram,
  receiveOutput?: (text: string) => void,
): Promise<void> {
  const child = forkApp(program, receiveOutput);
  const endReason = await waitForEnd(child);
  if (endReason !== 'exit code 0')
    throw new StartError(`${program.name} failed (${endReason}); its log is ${program.log.path}`);
}

function forkApp(
  { script, args = [], environment, log }: AppProgram,
  receiveOutput?: (text: string) => void,
): ChildProcess {
  const child = fork(script, args, {
    env: { ...readInheritedVariables(), ...environment },
    // Passes on no Node options of the supervisor, such as its debugger port.
    execArgv: [],
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  if (receiveOutput) child.stdout?.setEncoding('utf8').on('data', receiveOutput);
  for (const output of [receiveOutput ? null : child.stdout, child.stderr])
    if (output) void log.logStream(output);
  return child;
}

/**
 * Matches variables that apps do not inherit from the shell. They could contradict the variables of
 * the supervisor, or expose the database owner's password to an app. Apps inherit all others, such
 * as limits.
 */
const notInherited =
  /^(PG|POSTGRES_|REDIS_|QUEUE_REDIS_|AUTH_(?!DEVELOPMENT_KEYS)|API_|SECRETS_KEY|SESSION_KEY|CURSOR_KEY|KEYS_DIRECTORY)|DATABASE_URL|^(HOST|PORT|PUBLIC_URL|OPS_HOST|OPS_PORT)(_FILE)?$/;

function readInheritedVariables(): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(([name]) => !notInherited.test(name));
  // Node uses the last heap limit in NODE_OPTIONS, so the operator's limit overrides this one.
  return {
    ...Object.fromEntries(inherited),
    NODE_OPTIONS: `${heapLimitOption} ${process.env.NODE_OPTIONS ?? ''}`.trim(),
  };
}

/** Waits for the end of a process and its output. Resolves to the exit code or the signal. */
function waitForEnd(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', (code, signal) =>
      resolve(signal ? `signal ${signal}` : `exit code ${code}`),
    );
  });
}

function waitForReadyMessage(child: ChildProcess): Promise<Record<string, unknown>> {
  return new Promise((resolve) => {
    child.on('message', (message: Partial<ReadyMessage>) => {
      if (message.ready) resolve(message.facts ?? {});
    });
  });
}
