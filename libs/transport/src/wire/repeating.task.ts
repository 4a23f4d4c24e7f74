/** Runs a task again `everyMs` after each run. Errors go to `onError` and do not stop it. */
export class RepeatingTask {
  private timer?: NodeJS.Timeout;
  private running: Promise<void> = Promise.resolve();
  private stopped = true;

  constructor(
    private readonly everyMs: number,
    private readonly task: () => Promise<unknown>,
    private readonly onError: (error: unknown) => void,
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
    return this.running;
  }

  private wait(): void {
    // After `stop` and `start` during a run, both `start` and the end of the run come here.
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.running = this.task().then(() => undefined, this.onError);
      void this.running.then(() => this.stopped || this.wait());
    }, this.everyMs);
  }
}
