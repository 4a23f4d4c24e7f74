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
import type { Outages } from './outages.js';

/** Size in bytes at which a log file is rotated. Its last rotated file is then replaced. */
const defaultMaxBytes = 10 * 1024 * 1024;

const shownLevels: ReadonlySet<unknown> = new Set(['warn', 'error', 'fatal']);

/**
 * Writes the output of an app to a file. Warnings, errors and lines that are not JSON, such as
 * stack traces, are also shown under the app's name. {@link Outages} shows outages of servers. The
 * file is emptied at the start, but not at restarts of the app. It and one rotated file have a
 * limited size. Only its owner can read it. Lines that cannot be written are lost; the output is
 * still read and shown.
 */
export class AppLog {
  private file: number;
  private bytes = 0;
  /** True while lines cannot be written. */
  private isFailing = false;

  constructor(
    private readonly name: string,
    readonly path: string,
    private readonly printLine: (line: string) => void,
    private readonly outages: Outages,
    private readonly maxBytes = defaultMaxBytes,
  ) {
    const folder = dirname(path);
    mkdirSync(folder, { recursive: true });
    // Restricts a log folder that an earlier version created with the permissions of the umask.
    chmodSync(folder, 0o700);
    this.file = openEmptyFile(path);
  }

  /** Logs an output stream of the app. Resolves after the end of the stream. */
  async logStream(stream: Readable): Promise<void> {
    let rest = '';
    for await (const text of stream.setEncoding('utf8') as AsyncIterable<string>) {
      const end = text.lastIndexOf('\n') + 1;
      if (end > 0) this.writeLines(rest + text.slice(0, end));
      rest = end > 0 ? text.slice(end) : rest + text;
    }
    if (rest !== '') this.writeLines(`${rest}\n`);
    this.outages.dropApp(this.name);
  }

  /** Writes whole lines to the file, and shows some of them. */
  private writeLines(lines: string): void {
    this.writeToFile(lines);
    for (const line of lines.split('\n')) this.showLine(line);
  }

  /** Discards lines that cannot be written, because an error would end the supervisor. */
  private writeToFile(lines: string): void {
    try {
      if (this.bytes > this.maxBytes) this.rotate();
      this.bytes += writeSync(this.file, lines);
      this.isFailing = false;
    } catch (error) {
      if (!this.isFailing)
        this.printLine(
          `${this.name}: lines of its log are lost, because ${this.path} cannot be written: ` +
            (error as Error).message,
        );
      this.isFailing = true;
    }
  }

  /** Opens the new file before it closes the old one, so that a failure leaves an open file. */
  private rotate(): void {
    try {
      renameSync(this.path, `${this.path}.1`);
    } catch (error) {
      // The file was deleted, or an earlier rotation could not open the new file.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
    const file = openEmptyFile(this.path);
    closeSync(this.file);
    this.file = file;
    this.bytes = 0;
  }

  private showLine(line: string): void {
    const readable = readableLine(line);
    if (readable === undefined) return;
    if (readable.outage === undefined) this.printLine(`${this.name}: ${readable.text}`);
    else if (readable.isEnd) this.outages.recordEnd(this.name, readable.outage);
    else this.outages.recordStart(this.name, readable.outage, readable.reason);
  }
}

/** Opens an empty file of mode 0600. An earlier file can have another mode. */
function openEmptyFile(path: string): number {
  const file = openSync(path, 'w', 0o600);
  fchmodSync(file, 0o600);
  return file;
}

/** Content of a log line that is shown: a text, or the start or end of a server's outage. */
type ReadableLine =
  | { text: string; outage?: undefined }
  | { outage: string; isEnd: boolean; reason: string | undefined };

/** Returns true for an info line without an outage, without parsing it, as most lines are such. */
const isRoutineLine = (line: string) =>
  line.startsWith('{"level":"info",') && !line.includes('"outage":');

/**
 * Returns what a person sees of a line of output; `undefined` if nothing. Warnings about single
 * requests are not shown: the client sees the failure, and an outage would cause many warnings.
 */
export function readableLine(line: string): ReadableLine | undefined {
  if (line.trim() === '' || isRoutineLine(line)) return undefined;
  if (!line.startsWith('{')) return { text: line };
  try {
    const { level, msg, err, outage, problems, requestId, correlationId } = JSON.parse(line) as {
      level?: string;
      msg?: string;
      err?: { message?: string };
      outage?: string;
      problems?: string[];
      requestId?: string;
      correlationId?: string;
    };
    const cause = err?.message || problems?.join('; ');
    const isShown = shownLevels.has(level);
    if (outage !== undefined) return { outage, isEnd: !isShown, reason: cause };
    const isOfRequest = (requestId ?? correlationId) !== undefined;
    if (!isShown || (level === 'warn' && isOfRequest)) return undefined;
    return { text: `${level}: ${msg ?? ''}${cause && cause !== msg ? ` (${cause})` : ''}` };
  } catch {
    return { text: line };
  }
}
