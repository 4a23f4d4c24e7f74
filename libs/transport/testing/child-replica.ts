import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { ProbeProcessOptions } from './probe-process.js';

/** A replica of the service `episode` in a separate process, which a test can kill or suspend. */
export class ChildReplica {
  private constructor(
    private readonly child: ChildProcess,
    private readonly exit: Promise<unknown[]>,
  ) {}

  /** Starts a replica; resolves when it is ready. */
  static async start(options: ProbeProcessOptions, { skewMs = 0 } = {}): Promise<ChildReplica> {
    const register = new URL('typescript-register.js', import.meta.url).href;
    const child = fork(
      fileURLToPath(new URL('probe-process.ts', import.meta.url)),
      [JSON.stringify(options)],
      {
        execArgv: ['--conditions=podcast-sync', '--enable-source-maps', '--import', register],
        env: { ...process.env, CLOCK_SKEW_MS: String(skewMs) },
      },
    );
    const exit = once(child, 'exit');
    const started = await Promise.race([once(child, 'message'), exit]);
    if (started[0] !== 'ready')
      throw new Error(`the replica ended while it started: ${started.join(' ')}`);
    return new ChildReplica(child, exit);
  }

  get hasExited(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  /** Resolves when the process has ended. */
  async ended(): Promise<void> {
    await this.exit;
  }

  /** Kills the process, like a crash. */
  async kill(): Promise<void> {
    if (!this.hasExited) this.child.kill('SIGKILL');
    await this.exit;
  }

  /** Stops the process in order. */
  async stop(): Promise<void> {
    this.child.kill('SIGTERM');
    await this.exit;
  }

  /** Returns the heap in bytes after garbage collection, and the number of running requests. */
  async inspect(): Promise<{ heap: number; inFlight: number }> {
    this.child.send('inspect');
    const [answer] = (await once(this.child, 'message')) as [{ heap: number; inFlight: number }];
    return answer;
  }

  /** Suspends the process with SIGSTOP. */
  pause(): void {
    this.child.kill('SIGSTOP');
  }

  /** Continues a suspended process. */
  resume(): void {
    this.child.kill('SIGCONT');
  }
}
