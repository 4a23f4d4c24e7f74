/**
 * Runs a task again and again, `everyMs` after it ended, never twice at the same time. What the task throws goes to
 * `onError` and stops nothing.
 */
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

  /** No run begins after this; resolves when the current one has ended. */
  stop(): Promise<void> {
    this.stopped = true;
    clearTimeout(this.timer);
    return this.running;
  }

  private wait(): void {
    this.timer = setTimeout(() => {
      this.running = this.task().then(() => undefined, this.onError);
      void this.running.then(() => this.stopped || this.wait());
    }, this.everyMs);
  }
}
