import { setTimeout as delay } from 'node:timers/promises';

/** A running process that is ready. */
export interface ReadyProcess {
  /** Resolves when the process has ended, to `exit code 1` or `signal SIGKILL`. */
  readonly exited: Promise<string>;
  stop(): Promise<void>;
  kill?(): void;
}

/** Pauses before restarts of a process, in milliseconds. */
export interface Backoff {
  /** Pause in ms after the first end of the process. It doubles with each end, up to `maxMs`. */
  readonly firstMs: number;
  readonly maxMs: number;
  /** Milliseconds of running after which the next pause is `firstMs` again. */
  readonly healthyMs: number;
}

const defaultBackoff: Backoff = { firstMs: 500, maxMs: 30_000, healthyMs: 30_000 };

/**
 * Keeps one process running.
 * - `start` rejects if the first start fails. Only a process that was ready once is restarted.
 * - A process that ends without `stop` is restarted after a pause ({@link Backoff}), without limit.
 * - After the call of `stop` no process starts. After `stop` has resolved, no process runs.
 */
export class SupervisedRun<R extends ReadyProcess> {
  private readonly stopController = new AbortController();
  private currentProcess: R | undefined;
  private restartLoop: Promise<void> = Promise.resolve();

  constructor(
    private readonly name: string,
    /** Starts the process, and resolves when it is ready. Must reject soon after an abort. */
    private readonly startProcess: (stopped: AbortSignal) => Promise<R>,
    private readonly printLine: (line: string) => void,
    private readonly backoff: Backoff = defaultBackoff,
  ) {}

  /** Starts the process. @throws the error of the first start; then nothing runs. */
  async start(): Promise<R> {
    const first = this.startUnlessStopped();
    this.restartLoop = first.then(
      (run) => this.keepRunning(run),
      () => {},
    );
    return first;
  }

  /** False while the process has ended and is not ready again. */
  get isRunning(): boolean {
    return this.currentProcess !== undefined;
  }

  async stop(): Promise<void> {
    this.stopController.abort();
    await this.currentProcess?.stop();
    await this.restartLoop;
  }

  /** Kills the process, during a {@link stop} that takes too long. */
  kill(): void {
    this.currentProcess?.kill?.();
  }

  /** Starts the process, and stops it if {@link stop} was called before it became ready. */
  private async startUnlessStopped(): Promise<R> {
    const { signal } = this.stopController;
    const run = await this.startProcess(signal);
    if (signal.aborted) await run.stop();
    signal.throwIfAborted();
    this.currentProcess = run;
    return run;
  }

  private async keepRunning(first: R): Promise<void> {
    let run: R | undefined = first;
    let pause = this.backoff.firstMs;
    while (run) {
      const since = performance.now();
      const how: string = await run.exited;
      this.currentProcess = undefined;
      if (this.stopController.signal.aborted) return;
      if (performance.now() - since >= this.backoff.healthyMs) pause = this.backoff.firstMs;
      this.printLine(`${this.name} ended (${how}); restart in ${pause / 1000} s`);
      [run, pause] = await this.restartUntilReady(pause);
    }
  }

  /** Restarts the process. @returns the new run, unless it was stopped, and the next pause. */
  private async restartUntilReady(firstPause: number): Promise<[R | undefined, number]> {
    let pause = firstPause;
    let lastReason: string | undefined;
    const { signal } = this.stopController;
    while (!signal.aborted) {
      await delay(pause, undefined, { signal }).catch(() => {});
      if (signal.aborted) break;
      pause = Math.min(pause * 2, this.backoff.maxMs);
      try {
        const run = await this.startUnlessStopped();
        this.printLine(`${this.name} ready again`);
        return [run, pause];
      } catch (error) {
        if (signal.aborted) break;
        const reason = error instanceof Error ? error.message : String(error);
        if (reason !== lastReason)
          this.printLine(`${this.name} did not start: ${reason}; retrying until it is ready`);
        lastReason = reason;
      }
    }
    return [undefined, pause];
  }
}
