import { setTimeout as delay } from 'node:timers/promises';

/** A process that has begun to serve. */
export interface Run {
  /** Settles when it has ended, asked or not, with how: `exit code 1`, `signal SIGKILL`. */
  readonly exited: Promise<string>;
  /** Stops it in order. */
  stop(): Promise<void>;
  /** Ends it at once. */
  kill?(): void;
}

/** When a process is started again. */
export interface Backoff {
  /** After the first end. Each further one doubles it. */
  readonly firstMs: number;
  /** No pause is longer. */
  readonly mostMs: number;
  /** One that has run this long counts as healthy: its next end is a first one again. */
  readonly healthyMs: number;
}

const defaultBackoff: Backoff = { firstMs: 500, mostMs: 30_000, healthyMs: 30_000 };

/**
 * Keeps one process running.
 * - The first start either succeeds or fails for all to see; only what has once served is started again.
 * - An end that nobody asked for is followed by a new start, sooner or later, for as long as it takes.
 * - After `stop` nothing is started any more, and when it settles nothing runs.
 */
export class SupervisedRun<R extends Run> {
  private readonly ending = new AbortController();
  private current: R | undefined;
  private watch: Promise<void> = Promise.resolve();

  constructor(
    private readonly name: string,
    /** Starts it and settles when it serves; fails soon after the signal. */
    private readonly begin: (stopped: AbortSignal) => Promise<R>,
    private readonly say: (line: string) => void,
    private readonly backoff: Backoff = defaultBackoff,
  ) {}

  /** @throws what the first start failed with; then nothing runs. */
  async start(): Promise<R> {
    const first = this.beginUnlessStopped();
    this.watch = first.then(
      (run) => this.keepRunning(run),
      () => {},
    );
    return first;
  }

  async stop(): Promise<void> {
    this.ending.abort();
    await this.current?.stop();
    await this.watch;
  }

  /** Ends it at once; to be used together with {@link stop}, when that takes too long. */
  kill(): void {
    this.current?.kill?.();
  }

  /** A run that served only after it was told to stop is stopped here, as nobody else knows of it. */
  private async beginUnlessStopped(): Promise<R> {
    const { signal } = this.ending;
    const run = await this.begin(signal);
    if (signal.aborted) await run.stop();
    signal.throwIfAborted();
    this.current = run;
    return run;
  }

  private async keepRunning(first: R): Promise<void> {
    let run: R | undefined = first;
    let pause = this.backoff.firstMs;
    while (run) {
      const since = performance.now();
      const how: string = await run.exited;
      if (this.ending.signal.aborted) return;
      if (performance.now() - since >= this.backoff.healthyMs) pause = this.backoff.firstMs;
      this.say(`${this.name} has ended (${how}); starting it again in ${pause / 1000} s`);
      [run, pause] = await this.beginAgain(pause);
    }
  }

  /** @returns the new run, unless it was told to stop, and the next pause. */
  private async beginAgain(firstPause: number): Promise<[R | undefined, number]> {
    let pause = firstPause;
    const { signal } = this.ending;
    while (!signal.aborted) {
      await delay(pause, undefined, { signal }).catch(() => {});
      if (signal.aborted) break;
      pause = Math.min(pause * 2, this.backoff.mostMs);
      try {
        const run = await this.beginUnlessStopped();
        this.say(`${this.name} serves again`);
        return [run, pause];
      } catch (error) {
        if (signal.aborted) break;
        const reason = error instanceof Error ? error.message : String(error);
        this.say(`${this.name} could not be started: ${reason}; trying again in ${pause / 1000} s`);
      }
    }
    return [undefined, pause];
  }
}
