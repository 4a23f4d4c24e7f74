/** Runs a task again some time after each run. An error of a run does not stop it. */
export class RepeatingTask {
  private timer: NodeJS.Timeout | undefined;
  private running: Promise<void> = Promise.resolve();
  private stopped = true;

  /**
   * @param intervalMs returns the time until the next run, in milliseconds.
   * @param onError receives the errors of runs. Without it, the task must not reject.
   */
  constructor(
    private readonly intervalMs: () => number,
    private readonly task: () => Promise<unknown>,
    private readonly onError?: (error: unknown) => void,
  ) {}

  start(): void {
    if (!this.stopped) return;
    this.stopped = false;
    this.wait();
  }

  /** Starts no further run; resolves at the end of the current one. The task itself can call it. */
  stop(): Promise<void> {
    this.stopped = true;
    clearTimeout(this.timer);
    this.timer = undefined;
    return this.running;
  }

  /** Starts the current wait again, with the interval of now. */
  restartWait(): void {
    if (this.timer) this.wait();
  }

  private wait(): void {
    // After `stop` and `start` during a run, both `start` and the end of the run come here.
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.timer = undefined;
      this.running = this.task().then(() => undefined, this.onError);
      void this.running.then(() => this.stopped || this.wait());
    }, this.intervalMs());
  }
}
