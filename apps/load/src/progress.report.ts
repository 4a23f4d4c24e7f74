import { count, duration, type ProgramIo, ProgressLine } from '#runtime';
import type { Position } from './line.reader.js';
import type { Sent } from './part.sender.js';

/** What there is to say while a file is loaded. */
interface State extends Sent {
  users: number;
  dropped: number;
  refused: number;
  /** Bytes of the file that were read, and that it has; unknown of the standard input. */
  read?: number;
  size?: number | undefined;
}

/** Says how a load goes. */
export class ProgressReport {
  private readonly line: ProgressLine;

  constructor(
    private readonly stream: ProgramIo['stderr'],
    private readonly file: string,
    from: Position,
    private readonly state: () => State,
  ) {
    if (from.line > 0) this.stream.write(`load: ${file}: going on behind line ${from.line}\n`);
    this.line = new ProgressLine(stream, `load: ${file}`, () => this.facts());
  }

  /** Says the end. */
  end(): void {
    this.line.end();
    const { users, subscriptions, episodes, dropped, refused, clamped } = this.state();
    const { seconds } = this.line;
    const facts = [
      `${count(users)} users with ${count(subscriptions)} subscriptions and ${count(episodes)} episodes`,
      `in ${seconds.toFixed(1)} s (${count(Math.round(episodes / seconds))} episodes/s)`,
      `${count(dropped)} users left out, ${count(refused)} lines refused, ${count(clamped)} times ahead of the clock`,
    ];
    this.stream.write(`load: ${this.file}: ${facts.join('; ')}\n`);
  }

  private facts(): string {
    const { users, episodes, refused, dropped, read, size, waitingSince } = this.state();
    const { seconds } = this.line;
    const share = read !== undefined && size ? read / size : undefined;
    const facts = [
      share === undefined ? undefined : `${(share * 100).toFixed(1)} %`,
      `${count(users)} users, ${count(episodes)} episodes (${count(Math.round(episodes / seconds))}/s)`,
      refused + dropped > 0 ? `${count(dropped)} users left out, ${count(refused)} lines refused` : undefined,
      waitingSince === undefined
        ? undefined
        : `waiting for the services since ${Math.round((performance.now() - waitingSince) / 1_000)} s`,
      share ? `${duration((seconds * (1 - share)) / share)} left` : undefined,
    ];
    return facts.filter((fact) => fact !== undefined).join('; ');
  }
}
