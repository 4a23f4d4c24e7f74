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

/** Maximum milliseconds for the start of an app, until it is ready. Then it is killed. */
const readyTimeoutMs = 60_000;
/** Limit of an app's heap in MiB, as in a container (k8s/chart). `NODE_OPTIONS` overrides it. */
const heapLimit = '--max-old-space-size=384';
/** Time from SIGTERM to SIGKILL in milliseconds, longer than an app's own limit for its stop. */
export const killAfterMs = appStopLimitMs + 5_000;

/**
 * A running app.
 * - It leads a process group: Ctrl-C in a terminal reaches only the supervisor, which stops the
 *   apps in order.
 * - The IPC channel reports readiness, and its end tells the app that the supervisor is gone.
 */
export class SupervisedApp implements ReadyProcess {
  readonly exited: Promise<string>;
  /** Facts that the app reported when it was ready. */
  facts: Readonly<Record<string, unknown>> = {};
  private hasEnded = false;

  private constructor(private readonly child: ChildProcess) {
    this.exited = waitForEnd(child).then((how) => {
      this.hasEnded = true;
      return how;
    });
  }

  /**
   * Starts an app and waits until it is ready.
   *
   * @throws StartError if it ends or does not become ready in time.
   */
  static async start(program: AppProgram, stopped: AbortSignal): Promise<SupervisedApp> {
    stopped.throwIfAborted();
    const child = forkApp(program);
    const app = new SupervisedApp(child);
    const limit = createLimitedSignal(readyTimeoutMs, [stopped]);
    const end = await Promise.race([
      waitForReadyMessage(child).then((facts) => void (app.facts = facts)),
      app.exited,
      once(limit.signal, 'abort').then(() =>
        stopped.aborted ? 'stopped' : `not ready within ${readyTimeoutMs / 1000} s`,
      ),
    ]);
    limit.release();
    if (end === undefined) return app;
    app.kill();
    await app.exited;
    throw new StartError(`${program.name} did not start (${end}); its log is ${program.log.path}`);
  }

  async stop(): Promise<void> {
    if (this.hasEnded) return;
    this.child.kill('SIGTERM');
    const limit = setTimeout(() => this.kill(), killAfterMs);
    await this.exited;
    clearTimeout(limit);
  }

  kill(): void {
    this.child.kill('SIGKILL');
  }
}

/**
 * Runs an app until it ends.
 *
 * @param answer receives the standard output, which is then not logged.
 * @throws StartError if it fails.
 */
export async function runToEnd(
  program: AppProgram,
  answer?: (text: string) => void,
): Promise<void> {
  const child = forkApp(program, answer);
  const how = await waitForEnd(child);
  if (how !== 'exit code 0')
    throw new StartError(`${program.name} failed (${how}); its log is ${program.log.path}`);
}

function forkApp(
  { script, args = [], environment, log }: AppProgram,
  answer?: (text: string) => void,
): ChildProcess {
  const child = fork(script, args, {
    env: { ...inheritedVariables(), ...environment },
    // Passes on no Node options of the supervisor, such as its debugger port.
    execArgv: [],
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  if (answer) child.stdout?.setEncoding('utf8').on('data', answer);
  for (const output of [answer ? null : child.stdout, child.stderr])
    if (output) void log.logStream(output);
  return child;
}

/**
 * Matches variables that apps do not inherit, because the supervisor sets them. A variable of the
 * shell must not contradict it, or expose the database owner's password to an app. Apps inherit
 * other variables, such as limits.
 */
const notInherited =
  /^(PG|POSTGRES_|REDIS_|QUEUE_REDIS_|AUTH_(?!DEVELOPMENT_KEYS)|API_|SECRETS_KEY|SESSION_KEY|CURSOR_KEY|KEYS_DIRECTORY)|DATABASE_URL|^(HOST|PORT|PUBLIC_URL|OPS_HOST|OPS_PORT)(_FILE)?$/;

function inheritedVariables(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !notInherited.test(name));
  // Node uses the last heap limit in NODE_OPTIONS, so the operator's limit overrides this one.
  return {
    ...Object.fromEntries(kept),
    NODE_OPTIONS: `${heapLimit} ${process.env.NODE_OPTIONS ?? ''}`.trim(),
  };
}

/** Resolves when a process and its output have ended, to the exit code or signal. */
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
