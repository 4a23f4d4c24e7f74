import type { Readable, Writable } from 'node:stream';

/** Environment, input and output of a program: those of `process`, or given by a caller. */
export interface ProgramIo {
  readonly env: NodeJS.ProcessEnv;
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly stderr: Writable & { readonly isTTY?: boolean };
}

/** Thrown if a valid command cannot be executed. The message is for the operator. */
export class CommandFailed extends Error {}

/** Intervals of progress output to a terminal and to any other stream, in milliseconds. */
const [terminalMs, logMs] = [500, 10_000];

/** Shows progress: on a terminal in one changing line, elsewhere in a line every ten seconds. */
export class ProgressLine {
  private readonly startedAt = performance.now();
  private readonly outputTimer: NodeJS.Timeout;

  /**
   * @param name the prefix of lines outside a terminal.
   * @param formatProgress returns the text of a line, given the seconds since the start.
   */
  constructor(
    private readonly stream: ProgramIo['stderr'],
    name: string,
    formatProgress: (seconds: number) => string,
  ) {
    const writeLine = () => {
      const progress = formatProgress(this.seconds);
      stream.write(stream.isTTY ? `\r\x1b[K${progress}` : `${name}: ${progress}\n`);
    };
    this.outputTimer = setInterval(writeLine, stream.isTTY ? terminalMs : logMs).unref();
  }

  get seconds(): number {
    return (performance.now() - this.startedAt) / 1_000;
  }

  /** Stops, and clears the line on a terminal. */
  end(): void {
    clearInterval(this.outputTimer);
    if (this.stream.isTTY) this.stream.write('\r\x1b[K');
  }
}

/** Formats a number for people: 12,345. */
export function formatCount(value: number): string {
  return value.toLocaleString('en-GB');
}

/** Formats a duration for people: 12.3 s, 17 min, 2.5 h. */
export function formatDuration(seconds: number): string {
  if (seconds < 100) return `${seconds.toFixed(1)} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 100 ? `${minutes} min` : `${(minutes / 60).toFixed(1)} h`;
}

/** Returns rows as aligned columns, one line each; the first row holds the headings. */
export function alignedTable(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  );
  const lines = rows.map((row) =>
    row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '),
  );
  return lines.map((line) => `${line.trimEnd()}\n`).join('');
}
