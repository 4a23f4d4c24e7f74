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

/** Size in bytes above which a log file is rotated. The rotated file replaces the previous one. */
const defaultMaxBytes = 10 * 1024 * 1024;

const shownLevels: ReadonlySet<unknown> = new Set(['warn', 'error', 'fatal']);

/**
 * Writes the output of an app to a file.
 * - Warnings, errors and lines that are not JSON, such as stack traces, are also shown under the
 *   app's name. {@link Outages} shows outages of servers.
 * - The constructor empties the file. A restart of the app does not.
 * - The file has a limited size. One rotated file is kept. Only their owner can read them.
 * - Lines that cannot be written are lost. They are still shown.
 */
export class AppLog {
  private file: number;
  private fileBytes = 0;
  private isLosingLines = false;

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
    let incompleteLine = '';
    for await (const chunk of stream.setEncoding('utf8') as AsyncIterable<string>) {
      const end = chunk.lastIndexOf('\n') + 1;
      if (end > 0) this.writeLines(incompleteLine + chunk.slice(0, end));
      incompleteLine = end > 0 ? chunk.slice(end) : incompleteLine + chunk;
    }
    if (incompleteLine !== '') this.writeLines(`${incompleteLine}\n`);
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
      if (this.fileBytes > this.maxBytes) this.rotate();
      this.fileBytes += writeSync(this.file, lines);
      this.isLosingLines = false;
    } catch (error) {
      if (!this.isLosingLines)
        this.printLine(
          `${this.name}: lines of its log are lost, because ${this.path} cannot be written: ` +
            (error as Error).message,
        );
      this.isLosingLines = true;
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
    const newFile = openEmptyFile(this.path);
    closeSync(this.file);
    this.file = newFile;
    this.fileBytes = 0;
  }

  private showLine(line: string): void {
    const content = readableLine(line);
    if (content === undefined) return;
    if (content.outage === undefined) this.printLine(`${this.name}: ${content.text}`);
    else if (content.isEnd) this.outages.recordEnd(this.name, content.outage);
    else this.outages.recordStart(this.name, content.outage, content.reason);
  }
}

/** Opens a file and empties it. Sets mode 0600, because an existing file can have another mode. */
function openEmptyFile(path: string): number {
  const file = openSync(path, 'w', 0o600);
  fchmodSync(file, 0o600);
  return file;
}

/** The shown content of a log line: a text, or the start or end of the outage of a server. */
type ReadableLine =
  | { text: string; outage?: undefined }
  | { outage: string; isEnd: boolean; reason: string | undefined };

/** Returns true for an info line without an outage. Parses no JSON: most lines are such. */
const isRoutineLine = (line: string) =>
  line.startsWith('{"level":"info",') && !line.includes('"outage":');

/**
 * Returns the content of a line of output to show; undefined if the line is not shown. Warnings
 * about single requests are not shown, because the client receives the failure, and because an
 * outage would cause many warnings.
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
    const hasShownLevel = shownLevels.has(level);
    if (outage !== undefined) return { outage, isEnd: !hasShownLevel, reason: cause };
    const hasRequestId = (requestId ?? correlationId) !== undefined;
    if (!hasShownLevel || (level === 'warn' && hasRequestId)) return undefined;
    return { text: `${level}: ${msg ?? ''}${cause && cause !== msg ? ` (${cause})` : ''}` };
  } catch {
    return { text: line };
  }
}
