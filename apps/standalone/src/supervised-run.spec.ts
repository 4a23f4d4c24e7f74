import { eventually } from '#testing';
import { describe, expect, it } from 'vitest';
import { SupervisedRun, type ReadyProcess } from './supervised-run.js';

const backoff = { firstMs: 10, maxMs: 40, healthyMs: 60_000 };

class FakeRun implements ReadyProcess {
  end!: (how: string) => void;
  stopped = false;
  readonly exited = new Promise<string>((resolve) => (this.end = resolve));

  stop(): Promise<void> {
    this.stopped = true;
    this.end('exit code 0');
    return Promise.resolve();
  }
}

/** Returns a supervised process with given outcomes of its first starts; later starts succeed. */
function subject(pauses = backoff, ...outcomes: ('serves' | 'fails')[]) {
  const runs: FakeRun[] = [];
  const lines: string[] = [];
  const startedAt: number[] = [];
  const begin = () => {
    startedAt.push(performance.now());
    if (outcomes.shift() === 'fails') return Promise.reject(new Error('no luck'));
    const run = new FakeRun();
    runs.push(run);
    return Promise.resolve(run);
  };
  return {
    runs,
    lines,
    startedAt,
    supervised: new SupervisedRun('app', begin, (line) => lines.push(line), pauses),
  };
}

describe('SupervisedRun', () => {
  it('restarts a process that ended, and prints it', async () => {
    const { supervised, runs, lines } = subject();
    await supervised.start();
    runs[0]?.end('signal SIGKILL');
    await eventually(() => expect(lines).toHaveLength(2));
    expect(lines).toEqual(['app ended (signal SIGKILL); restart in 0.01 s', 'app ready again']);
    await supervised.stop();
  });

  it('retries with increasing pauses up to a maximum, and prints a cause once', async () => {
    const { supervised, runs, lines, startedAt } = subject(
      backoff,
      'serves',
      'fails',
      'fails',
      'fails',
      'fails',
    );
    await supervised.start();
    runs[0]?.end('exit code 1');
    await eventually(() => expect(lines.at(-1)).toBe('app ready again'));
    expect(lines).toEqual([
      'app ended (exit code 1); restart in 0.01 s',
      'app did not start: no luck; retrying until it is ready',
      'app ready again',
    ]);
    // A timer can fire up to a millisecond early.
    const pauses = startedAt.slice(1).map((at, n) => at - (startedAt[n] ?? 0) + 1);
    expect(pauses.every((pause, n) => pause >= Math.min(10 * 2 ** n, 40))).toBe(true);
    await supervised.stop();
  });

  it('resets the pause after a long run', async () => {
    const { supervised, runs, lines } = subject({ ...backoff, healthyMs: 0 });
    await supervised.start();
    runs[0]?.end('exit code 1');
    await eventually(() => expect(runs).toHaveLength(2));
    runs[1]?.end('exit code 1');
    await eventually(() => expect(runs).toHaveLength(3));
    expect(lines.filter((line) => line.includes('in 0.01 s'))).toHaveLength(2);
    await supervised.stop();
  });

  it('fails if the first start fails, without a restart', async () => {
    const { supervised, runs } = subject(backoff, 'fails');
    await expect(supervised.start()).rejects.toThrow('no luck');
    await supervised.stop();
    expect(runs).toHaveLength(0);
  });

  it('leaves no process after a stop, and starts none', async () => {
    const { supervised, runs, lines } = subject();
    await supervised.start();
    await supervised.stop();
    expect(runs.map((run) => run.stopped)).toEqual([true]);
    expect(lines).toEqual([]);
  });

  it('stops a run that becomes ready after the stop', async () => {
    const run = new FakeRun();
    let serve!: () => void;
    const running = new Promise<FakeRun>((resolve) => (serve = () => resolve(run)));
    const supervised = new SupervisedRun(
      'app',
      () => running,
      () => {},
      backoff,
    );
    const started = supervised.start().catch((error: unknown) => error);
    const stopped = supervised.stop();
    serve();
    await stopped;
    expect(run.stopped).toBe(true);
    expect(await started).toBeInstanceOf(Error);
  });

  it('stops during a pause', async () => {
    const { supervised, runs, lines } = subject({ ...backoff, firstMs: 60_000 });
    await supervised.start();
    runs[0]?.end('exit code 1');
    await eventually(() => expect(lines).toHaveLength(1));
    await supervised.stop();
    expect(runs).toHaveLength(1);
  });
});
