import type { ProgramIo } from '#runtime';
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

/** How often a terminal is told, and anything else, in milliseconds. */
const [terminalMs, logMs] = [500, 10_000];

const number = (value: number) => value.toLocaleString('en-GB');

/** Says how a load goes. */
export class ProgressReport {
  private readonly begun = performance.now();
  private readonly timer: NodeJS.Timeout;
  private readonly isTerminal: boolean;

  constructor(
    private readonly stream: ProgramIo['stderr'],
    private readonly file: string,
    from: Position,
    private readonly state: () => State,
  ) {
    this.isTerminal = stream.isTTY ?? false;
    if (from.line > 0) this.stream.write(`load: ${file}: going on behind line ${from.line}\n`);
    this.timer = setInterval(() => this.say(), this.isTerminal ? terminalMs : logMs);
  }

  /** Says the end. */
  end(): void {
    clearInterval(this.timer);
    const { users, subscriptions, episodes, dropped, refused, clamped } = this.state();
    const seconds = (performance.now() - this.begun) / 1_000;
    const facts = [
      `${number(users)} users with ${number(subscriptions)} subscriptions and ${number(episodes)} episodes`,
      `in ${seconds.toFixed(1)} s (${number(Math.round(episodes / seconds))} episodes/s)`,
      `${number(dropped)} users left out, ${number(refused)} lines refused, ${number(clamped)} times ahead of the clock`,
    ];
    this.stream.write(`${this.isTerminal ? '\r\x1b[K' : ''}load: ${this.file}: ${facts.join('; ')}\n`);
  }

  private say(): void {
    const { users, episodes, refused, dropped, read, size, waitingSince } = this.state();
    const seconds = (performance.now() - this.begun) / 1_000;
    const share = read !== undefined && size ? read / size : undefined;
    const facts = [
      share === undefined ? undefined : `${(share * 100).toFixed(1)} %`,
      `${number(users)} users, ${number(episodes)} episodes (${number(Math.round(episodes / seconds))}/s)`,
      refused + dropped > 0 ? `${number(dropped)} users left out, ${number(refused)} lines refused` : undefined,
      waitingSince === undefined
        ? undefined
        : `waiting for the services since ${Math.round((performance.now() - waitingSince) / 1_000)} s`,
      share ? `${left((seconds * (1 - share)) / share)} left` : undefined,
    ];
    const text = facts.filter((fact) => fact !== undefined).join('; ');
    this.stream.write(this.isTerminal ? `\r\x1b[K${text}` : `load: ${this.file}: ${text}\n`);
  }
}

function left(seconds: number): string {
  return seconds < 90 ? `${Math.ceil(seconds)} s` : `${Math.ceil(seconds / 60)} min`;
}
