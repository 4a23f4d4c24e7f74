import type { Written } from './account.writer.js';
import { type Place, start } from './import.progress.js';

/** How often a terminal is told, and anything else, in milliseconds. */
const [terminalMs, logMs] = [500, 10_000];

const number = (value: number) => value.toLocaleString('en-GB');

/** Says on the standard error how an import goes. */
export class ImportReport {
  private readonly timer: NodeJS.Timeout;
  private readonly isTerminal = process.stderr.isTTY;

  constructor(
    protocol: string,
    from: Place,
    private readonly written: Written,
  ) {
    process.stderr.write(`import: the other server speaks ${protocol}\n`);
    if (from !== start) process.stderr.write(`import: going on behind ${number(from.actions)} actions\n`);
    this.timer = setInterval(() => this.say(), this.isTerminal ? terminalMs : logMs);
  }

  /** Says the end. */
  end(): void {
    clearInterval(this.timer);
    if (this.isTerminal) process.stderr.write('\r\x1b[K');
    process.stderr.write(`import: ${this.facts()}\n`);
  }

  private say(): void {
    process.stderr.write(this.isTerminal ? `\r\x1b[K${this.facts()}` : `import: ${this.facts()}\n`);
  }

  private facts(): string {
    const { subscriptions, actions, favorites, skipped } = this.written;
    const read = `${number(subscriptions)} subscriptions, ${number(actions)} actions, ${number(favorites)} favourites`;
    return `${read}; ${number(skipped)} skipped`;
  }
}
