import { count, duration, type ProgramIo, ProgressLine } from '#runtime';
import type { DumpCounts } from './dump.reader.js';

/** Says how far a dump is. */
export class DumpProgress {
  private readonly line: ProgressLine;

  /**
   * @param stream where to.
   * @param share how much of all has come, from 0 to 1.
   */
  constructor(
    stream: ProgramIo['stderr'],
    private readonly counts: Readonly<DumpCounts>,
    private readonly share: () => number,
  ) {
    this.line = new ProgressLine(stream, 'dump', () => this.facts());
  }

  /** Says nothing more. */
  stop(): void {
    this.line.end();
  }

  /** What was written, in how much time. */
  summary(): string {
    const { users, subscriptions, episodes } = this.counts;
    const all = `${count(users)} users, ${count(subscriptions)} subscriptions and ${count(episodes)} states`;
    return `${all} in ${duration(this.line.seconds)} (${this.rate} states/s)`;
  }

  private facts(): string {
    const share = this.share();
    const left = share > 0 ? `, ${duration((this.line.seconds / share) * (1 - share))} left` : '';
    const { users, episodes } = this.counts;
    const so = `${count(users)} users, ${count(episodes)} states, ${this.rate} states/s`;
    return `${Math.floor(share * 100)} %: ${so}${left}`;
  }

  private get rate(): string {
    return count(Math.round(this.counts.episodes / Math.max(this.line.seconds, 0.001)));
  }
}
