import { setTimeout as delay } from 'node:timers/promises';

/** A running process that is ready. */
export interface ReadyProcess {
  /** Resolves when the process has ended, to `exit code 1` or `signal SIGKILL`. */
  readonly exited: Promise<string>;
  stop(): Promise<void>;
  /** Ends the process without a clean stop. */
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
    const firstStart = this.startUnlessStopped();
    this.restartLoop = firstStart.then(
      (readyProcess) => this.keepRunning(readyProcess),
      () => {},
    );
    return firstStart;
  }

  /** True while the process is ready. False until its first start, and during a restart. */
  get isRunning(): boolean {
    return this.currentProcess !== undefined;
  }

  async stop(): Promise<void> {
    this.stopController.abort();
    await this.currentProcess?.stop();
    await this.restartLoop;
  }

  /** Kills the process, to shorten a {@link stop} that takes too long. */
  kill(): void {
    this.currentProcess?.kill?.();
  }

  /** Starts the process, and stops it if {@link stop} was called before it became ready. */
  private async startUnlessStopped(): Promise<R> {
    const { signal } = this.stopController;
    const readyProcess = await this.startProcess(signal);
    if (signal.aborted) await readyProcess.stop();
    signal.throwIfAborted();
    this.currentProcess = readyProcess;
    return readyProcess;
  }

  private async keepRunning(firstProcess: R): Promise<void> {
    let readyProcess: R | undefined = firstProcess;
    let pauseMs = this.backoff.firstMs;
    while (readyProcess) {
      const startMs = performance.now();
      const endReason: string = await readyProcess.exited;
      this.currentProcess = undefined;
      if (this.stopController.signal.aborted) return;
      if (performance.now() - startMs >= this.backoff.healthyMs) pauseMs = this.backoff.firstMs;
      this.printLine(`${this.name} ended (${endReason}); restart in ${pauseMs / 1000} s`);
      [readyProcess, pauseMs] = await this.restartUntilReady(pauseMs);
    }
  }

  /** Restarts the process. @returns the process, undefined after a stop, and the next pause. */
  private async restartUntilReady(firstPauseMs: number): Promise<[R | undefined, number]> {
    let pauseMs = firstPauseMs;
    let lastReason: string | undefined;
    const { signal } = this.stopController;
    while (!signal.aborted) {
      await delay(pauseMs, undefined, { signal }).catch(() => {});
      if (signal.aborted) break;
      pauseMs = Math.min(pauseMs * 2, this.backoff.maxMs);
      try {
        const readyProcess = await this.startUnlessStopped();
        this.printLine(`${this.name} ready again`);
        return [readyProcess, pauseMs];
      } catch (error) {
        if (signal.aborted) break;
        const reason = error instanceof Error ? error.message : String(error);
        if (reason !== lastReason)
          this.printLine(`${this.name} did not start: ${reason}; retrying until it is ready`);
        lastReason = reason;
      }
    }
    return [undefined, pauseMs];
  }
}
