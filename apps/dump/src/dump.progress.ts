import type { ProgramIo } from '#runtime';
import type { DumpCounts } from './dump.reader.js';

const number = new Intl.NumberFormat('en');

/** Says how far a dump is, for whoever started it: once a second on a terminal, else every ten seconds. */
export class DumpProgress {
  private readonly started = performance.now();
  private readonly timer: NodeJS.Timeout;

  /**
   * @param stream where to.
   * @param share how much of all has come, from 0 to 1.
   */
  constructor(
    private readonly stream: ProgramIo['stderr'],
    private readonly counts: Readonly<DumpCounts>,
    private readonly share: () => number,
  ) {
    const say = () => stream.write(stream.isTTY ? `\r${this.line()}\u001B[K` : `${this.line()}\n`);
    this.timer = setInterval(say, stream.isTTY ? 1_000 : 10_000);
    this.timer.unref();
  }

  /** Says nothing more; the next text begins a line. */
  stop(): void {
    clearInterval(this.timer);
    if (this.stream.isTTY) this.stream.write('\r\u001B[K');
  }

  /** What was written, in how much time. */
  summary(): string {
    const { users, subscriptions, episodes } = this.counts;
    const all = `${number.format(users)} users, ${number.format(subscriptions)} subscriptions and ${number.format(episodes)} states`;
    return `${all} in ${duration(this.seconds)} (${this.rate} states/s)`;
  }

  private line(): string {
    const share = this.share();
    const left = share > 0 ? `, ${duration((this.seconds / share) * (1 - share))} left` : '';
    const { users, episodes } = this.counts;
    const so = `${number.format(users)} users, ${number.format(episodes)} states, ${this.rate} states/s`;
    return `${Math.floor(share * 100)} %: ${so}${left}`;
  }

  private get seconds(): number {
    return (performance.now() - this.started) / 1_000;
  }

  private get rate(): string {
    return number.format(Math.round(this.counts.episodes / Math.max(this.seconds, 0.001)));
  }
}

function duration(seconds: number): string {
  if (seconds < 100) return `${seconds.toFixed(1)} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 100 ? `${minutes} min` : `${(minutes / 60).toFixed(1)} h`;
}
