import {
  chmodSync,
  closeSync,
  fchmodSync,
  mkdirSync,
  openSync,
  renameSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import type { Readable } from 'node:stream';
import { createInterface } from 'node:readline';

/** File size in bytes at which the log is rotated; the previous rotated file is replaced. */
const defaultMostBytes = 10 * 1024 * 1024;

const loud: ReadonlySet<unknown> = new Set(['warn', 'error', 'fatal']);

/**
 * Writes the output of an app to a file. Warnings, errors and lines that are no log lines, such as
 * stack traces, are also shown under the app's name. The file is empty at the start, continues over
 * restarts of the app, and is bounded together with one rotated file. Only its owner can read it.
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
    const folder = dirname(path);
    mkdirSync(folder, { recursive: true });
    // An earlier version created it with the permissions of the umask.
    chmodSync(folder, 0o700);
    this.file = openEmpty(path);
  }

  /** Logs an output stream of the app. Resolves after its end. */
  async take(stream: Readable): Promise<void> {
    for await (const line of createInterface({ input: stream })) this.write(line);
  }

  private write(line: string): void {
    if (this.bytes > this.mostBytes) {
      closeSync(this.file);
      renameSync(this.path, `${this.path}.1`);
      this.file = openEmpty(this.path);
      this.bytes = 0;
    }
    this.bytes += writeSync(this.file, `${line}\n`);
    const words = wordsFor(line);
    if (words !== undefined) this.say(`${this.name}: ${words}`);
  }
}

/** Opens an empty file of mode 0600. An earlier file can have another mode. */
function openEmpty(path: string): number {
  const file = openSync(path, 'w', 0o600);
  fchmodSync(file, 0o600);
  return file;
}

/** Returns the text of a log line for a person, or undefined if the line is not for people. */
export function wordsFor(line: string): string | undefined {
  if (line.trim() === '') return undefined;
  if (!line.startsWith('{')) return line;
  try {
    const { level, msg, err } = JSON.parse(line) as {
      level?: string;
      msg?: string;
      err?: { message?: string };
    };
    if (!loud.has(level)) return undefined;
    const reason = err?.message && err.message !== msg ? ` (${err.message})` : '';
    return `${level}: ${msg ?? ''}${reason}`;
  } catch {
    return line;
  }
}
