import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { type ReadyMessage, stopLimitMs as appStopLimitMs } from '#runtime';
import { StartError } from '#embedded';
import type { AppLog } from './app.log.js';
import type { Run } from './supervised.run.js';

/** One of our apps as a process to be started. */
export interface AppProgram {
  /** Tells it from the others; of two replicas each has its own. */
  readonly name: string;
  /** The file that Node runs. */
  readonly script: string;
  readonly args?: readonly string[];
  /** Its configuration, beside the limits that the supervisor was started with. */
  readonly environment: Readonly<Record<string, string>>;
  readonly log: AppLog;
}

const readyLimitMs = 60_000;
/** As in a container (k8s/chart), so that one app can't take the machine; `NODE_OPTIONS` may say otherwise. */
const heapLimit = '--max-old-space-size=384';
/** Longer than an app takes to give up on its own stop. */
export const stopLimitMs = appStopLimitMs + 5_000;

/**
 * A running app.
 * - It leads a process group: a terminal's Ctrl-C reaches the supervisor only, which stops the apps in order.
 * - The channel between the two says when the app serves, and its end tells the app that the supervisor is gone.
 */
export class AppProcess implements Run {
  readonly exited: Promise<string>;
  /** What it said about itself when it was ready. */
  facts: Readonly<Record<string, unknown>> = {};
  private ended = false;

  private constructor(private readonly child: ChildProcess) {
    this.exited = endOf(child).then((how) => {
      this.ended = true;
      return how;
    });
  }

  /**
   * Starts an app and waits until it serves.
   *
   * @throws StartError when it ends or keeps silent instead.
   */
  static async start(program: AppProgram, stopped: AbortSignal): Promise<AppProcess> {
    stopped.throwIfAborted();
    const child = launch(program);
    const app = new AppProcess(child);
    const silence = AbortSignal.timeout(readyLimitMs);
    const end = await Promise.race([
      readyMessage(child).then((facts) => void (app.facts = facts)),
      app.exited,
      once(AbortSignal.any([silence, stopped]), 'abort').then(() => `no answer within ${readyLimitMs / 1000} s`),
    ]);
    if (end === undefined) return app;
    app.kill();
    await app.exited;
    throw new StartError(`${program.name} did not start (${end}); its log is ${program.log.path}`);
  }

  /** Asks it to stop, and ends it when it doesn't. */
  async stop(): Promise<void> {
    if (this.ended) return;
    this.child.kill('SIGTERM');
    const limit = setTimeout(() => this.kill(), stopLimitMs);
    await this.exited;
    clearTimeout(limit);
  }

  kill(): void {
    this.child.kill('SIGKILL');
  }
}

/**
 * Runs an app that does one thing and ends.
 *
 * @param answer takes what it prints, which is no log then.
 * @throws StartError when it fails.
 */
export async function runToEnd(program: AppProgram, answer?: (text: string) => void): Promise<void> {
  const child = launch(program, answer);
  const how = await endOf(child);
  if (how !== 'exit code 0') throw new StartError(`${program.name} failed (${how}); its log is ${program.log.path}`);
}

function launch({ script, args = [], environment, log }: AppProgram, answer?: (text: string) => void): ChildProcess {
  const child = fork(script, args, {
    env: { ...inherited(), ...environment },
    // Debugger ports and the like are the supervisor's own.
    execArgv: [],
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  if (answer) child.stdout?.setEncoding('utf8').on('data', answer);
  for (const output of [answer ? null : child.stdout, child.stderr]) if (output) void log.take(output);
  return child;
}

/**
 * Where the servers are and who may enter is the supervisor's to say; a variable left over in the shell must neither
 * contradict it nor hand the owner's password to an app. Limits and the like reach the apps as they were set.
 */
const decidedHere =
  /^(PG|POSTGRES_|REDIS_|QUEUE_REDIS_|AUTH_(?!DEVELOPMENT_KEYS)|API_|SECRETS_KEY|SESSION_KEY|KEYS_DIRECTORY)|DATABASE_URL|^(HOST|PORT|PUBLIC_URL|OPS_HOST|OPS_PORT)(_FILE)?$/;

function inherited(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !decidedHere.test(name));
  // Of two limits Node takes the last.
  return { ...Object.fromEntries(kept), NODE_OPTIONS: `${heapLimit} ${process.env.NODE_OPTIONS ?? ''}`.trim() };
}

/** Settles once the process has ended and all that it wrote has been read. */
function endOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', (code, signal) => resolve(signal ? `signal ${signal}` : `exit code ${code}`));
  });
}

function readyMessage(child: ChildProcess): Promise<Record<string, unknown>> {
  return new Promise((resolve) => {
    child.on('message', (message: Partial<ReadyMessage>) => {
      if (message.ready) resolve(message.facts ?? {});
    });
  });
}
