/** Runs a task repeatedly, with a pause before each run. A failed run does not end this. */
export class RepeatingTask {
  private timer: NodeJS.Timeout | undefined;
  private lastRun: Promise<void> = Promise.resolve();
  private isStopped = true;

  /**
   * @param intervalMs returns the length of the next pause in milliseconds.
   * @param onError receives the errors of runs. Without it, the task must not reject.
   */
  constructor(
    private readonly intervalMs: () => number,
    private readonly task: () => Promise<unknown>,
    private readonly onError?: (error: unknown) => void,
  ) {}

  start(): void {
    if (!this.isStopped) return;
    this.isStopped = false;
    this.pauseAndRun();
  }

  /** Starts no further run; resolves when the current run has ended. A task can stop itself. */
  stop(): Promise<void> {
    this.isStopped = true;
    clearTimeout(this.timer);
    this.timer = undefined;
    return this.lastRun;
  }

  /** Restarts the current pause with a new length from `intervalMs`; has no effect during a run. */
  restartPause(): void {
    if (this.timer) this.pauseAndRun();
  }

  private pauseAndRun(): void {
    // Keeps one timer. After `stop` and `start` during a run, `start` and the run each set one.
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.timer = undefined;
      this.lastRun = this.task().then(() => undefined, this.onError);
      void this.lastRun.then(() => this.isStopped || this.pauseAndRun());
    }, this.intervalMs());
  }
}
