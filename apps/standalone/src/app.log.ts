import { closeSync, mkdirSync, openSync, renameSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Readable } from 'node:stream';
import { createInterface } from 'node:readline';

/** A log file of this size moves aside, in place of the one that did so before it. */
const defaultMostBytes = 10 * 1024 * 1024;

const loud: ReadonlySet<unknown> = new Set(['warn', 'error', 'fatal']);

/**
 * What one app writes: all of it goes to a file, and what a person should see is said as well, under the app's name.
 * These are warnings, errors and whatever isn't a log line, such as the stack trace of a process that fell over.
 * The file begins empty, goes on when the app is started again and, together with one predecessor, stays below a bound.
 */
export class AppLog {
  private file: number;
  private bytes = 0;

  constructor(
    private readonly name: string,
    readonly path: string,
    private readonly say: (line: string) => void,
    private readonly mostBytes = defaultMostBytes,
  ) {
    mkdirSync(dirname(path), { recursive: true });
    this.file = openSync(path, 'w');
  }

  /** Takes over an output stream of the app; settles when it has ended. */
  async take(stream: Readable): Promise<void> {
    for await (const line of createInterface({ input: stream })) this.write(line);
  }

  private write(line: string): void {
    if (this.bytes > this.mostBytes) {
      closeSync(this.file);
      renameSync(this.path, `${this.path}.1`);
      this.file = openSync(this.path, 'w');
      this.bytes = 0;
    }
    this.bytes += writeSync(this.file, `${line}\n`);
    const words = wordsFor(line);
    if (words !== undefined) this.say(`${this.name}: ${words}`);
  }
}

/** A log line as a person reads it; undefined when it isn't for them. */
export function wordsFor(line: string): string | undefined {
  if (line.trim() === '') return undefined;
  if (!line.startsWith('{')) return line;
  try {
    const { level, msg, err } = JSON.parse(line) as { level?: string; msg?: string; err?: { message?: string } };
    if (!loud.has(level)) return undefined;
    const reason = err?.message && err.message !== msg ? ` (${err.message})` : '';
    return `${level}: ${msg ?? ''}${reason}`;
  } catch {
    return line;
  }
}
