import { fork, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { repository } from './launched-system.js';

/** The server apps. */
export type App =
  'gateway' | 'subscription' | 'episode' | 'deletion-worker' | 'account' | 'gpodder' | 'feed';

/** Maximum time in ms until an app is ready. */
const startLimitMs = 120_000;

/** A built app in a separate process, which a test can kill, stop and pause. */
export class AppProcess {
  /** Everything that the process has written to stdout and stderr. */
  output = '';
  /** Values that the app reported when it was ready, such as its ports. */
  facts: Readonly<Record<string, unknown>> = {};
  /** Resolves when the process has ended. */
  readonly ended: Promise<void>;

  /** True if a test has ended the process. */
  private isExpectedToEnd = false;

  private constructor(
    readonly app: App,
    private readonly child: ChildProcess,
  ) {
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (chunk: Buffer) => (this.output += chunk.toString()));
    this.ended = new Promise((resolve) => child.once('close', () => resolve()));
  }

  /**
   * Starts an app with only PATH and these variables, and waits until the app is ready.
   *
   * @param root the folder of the built repository.
   */
  static async start(
    app: App,
    environment: Readonly<Record<string, string>>,
    root: string = repository,
  ): Promise<AppProcess> {
    const mainProgram = join(root, 'dist', 'programs', `${app}.js`);
    if (!existsSync(mainProgram))
      throw new Error('The tests run the built apps: "npm run build" first.');
    const child = fork(mainProgram, [], {
      cwd: root,
      env: { PATH: process.env.PATH, ...environment },
      execArgv: [],
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    const appProcess = new AppProcess(app, child);
    const ready = new Promise<boolean>((resolve) => {
      child.once('message', (message: { facts: Record<string, unknown> }) => {
        appProcess.facts = message.facts;
        resolve(true);
      });
      void appProcess.ended.then(() => resolve(false));
      AbortSignal.timeout(startLimitMs).addEventListener('abort', () => resolve(false));
    });
    if (await ready) return appProcess.reportUnexpectedEnd();
    await appProcess.kill();
    throw new Error(`${app} did not start.\n${appProcess.output}`);
  }

  /** Prints the reason of an unexpected end, because the failing test does not show it. */
  private reportUnexpectedEnd(): this {
    this.child.once('exit', (code, signal) => {
      if (this.isExpectedToEnd) return;
      console.error(
        `${this.app} exited unexpectedly (${code ?? signal}):\n${this.output.slice(-5_000)}`,
      );
    });
    return this;
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  get hasExited(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  /** Kills the process with SIGKILL, as in a crash. */
  async kill(): Promise<void> {
    this.isExpectedToEnd = true;
    if (!this.hasExited) this.child.kill('SIGKILL');
    await this.ended;
  }

  /** Stops the process with SIGTERM. Resolves when it has ended. */
  async stop(): Promise<void> {
    this.isExpectedToEnd = true;
    this.child.kill('SIGTERM');
    await this.ended;
  }

  /** Sends a signal; resolves to the next message that the process sends. */
  ask(signal: NodeJS.Signals): Promise<unknown> {
    const answer = new Promise((resolve) => this.child.once('message', resolve));
    this.child.kill(signal);
    return answer;
  }

  /** Suspends the process with SIGSTOP. Its connections remain. */
  pause(): void {
    this.child.kill('SIGSTOP');
  }

  resume(): void {
    this.child.kill('SIGCONT');
  }
}
