import { count, ProgressLine } from '#runtime';
import type { Written } from './account.writer.js';
import { type Place, start } from './import.progress.js';

/** Says on the standard error how an import goes. */
export class ImportReport {
  private readonly line = new ProgressLine(process.stderr, 'import', () => this.facts());

  constructor(
    protocol: string,
    from: Place,
    private readonly written: Written,
  ) {
    process.stderr.write(`import: the other server speaks ${protocol}\n`);
    if (from !== start) process.stderr.write(`import: going on behind ${count(from.actions)} actions\n`);
  }

  /** Says the end. */
  end(): void {
    this.line.end();
    process.stderr.write(`import: ${this.facts()}\n`);
  }

  private facts(): string {
    const { subscriptions, actions, favorites, skipped } = this.written;
    const read = `${count(subscriptions)} subscriptions, ${count(actions)} actions, ${count(favorites)} favourites`;
    return `${read}; ${count(skipped)} skipped`;
  }
}
