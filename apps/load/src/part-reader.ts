import { type DataUser, maxLineBytes } from '#contracts';
import { readLine, type ParsedLine } from './data-line.js';
import { type Line, linesOf, type FileOffset } from './line-reader.js';
import { type CompletePart, type RejectedLine, UserPart } from './user-part.js';

interface PartReaderOptions {
  /** Returns the id of the user that a line `user` names. */
  readonly userId: (user: DataUser) => string;
  /** Receives each invalid line, and each user with an incomplete part. */
  readonly reject: (rejectedLine: RejectedLine) => Promise<void>;
  /** Called for each user whose part is not applied. */
  readonly dropped: () => void;
}

/**
 * Splits a file into parts, each with the lines of one user. Invariants:
 * - a part is yielded after its line `end`, and only if the counts of that line are correct;
 * - memory for parts is bounded, because `ChunkSpool` writes large parts to a file.
 */
export class PartReader {
  /** True after the line `complete`. */
  isComplete = false;
  private currentPart: UserPart | undefined;

  constructor(private readonly options: PartReaderOptions) {}

  /** Yields complete parts. @throws FormatError for another format, or the stream's error. */
  async *parts(stream: AsyncIterable<Buffer>, from: FileOffset): AsyncGenerator<CompletePart> {
    try {
      for await (const lines of linesOf(stream, from))
        for (const line of lines) {
          const result = this.processLine(line);
          // Awaits only promises, because an `await` for each line would take as long as the line.
          const completePart = result instanceof Promise ? await result : result;
          if (completePart)
            yield { part: completePart, next: { offset: line.end, line: line.number } };
        }
    } finally {
      await this.dropPart('the file ends before the line "end" of the part');
    }
  }

  /** Processes a line. @returns the user's part if the line completes the part. */
  private processLine(line: Line): Promise<UserPart | undefined> | UserPart | undefined {
    const { text, number, bytes } = line;
    if (text === '' || text === '\r') return undefined;
    const parsed = text === undefined ? toUnreadableLine(line) : readLine(text);
    const part = this.currentPart;
    if (parsed.kind === 'user') return this.beginPart(parsed.user, number);
    if (parsed.kind === 'format') return undefined;
    if (parsed.kind === 'complete') return this.completeFile();
    if (!part)
      return parsed.kind === 'unusable'
        ? this.rejectLine(number, 'invalid_line', parsed.message)
        : this.rejectLine(number, 'no_user', 'The line is not between a line "user" and its "end"');
    switch (parsed.kind) {
      case 'episode':
        return void part.addEpisode(parsed.entry, number, bytes);
      case 'subscription':
        return void part.addSubscription(parsed.entry, number, bytes);
      case 'end':
        return this.endPart(part, parsed, number);
      case 'unusable':
        part.unusable += 1;
        return part.userId === undefined
          ? undefined
          : this.rejectLine(number, 'invalid_line', parsed.message);
    }
  }

  private async completeFile(): Promise<undefined> {
    await this.dropPart('the line "complete" comes before the line "end" of the part');
    this.isComplete = true;
  }

  private async beginPart(user: DataUser | undefined, lineNumber: number): Promise<undefined> {
    await this.dropPart('another line "user" comes before the line "end" of the part');
    this.currentPart = new UserPart(user && this.options.userId(user), lineNumber);
  }

  private async endPart(
    part: UserPart,
    { end }: ParsedLine & { kind: 'end' },
    lineNumber: number,
  ): Promise<UserPart | undefined> {
    const problem = part.describeMissing(end);
    if (problem !== undefined || part.userId === undefined) {
      await this.dropPart(`line ${lineNumber}: ${problem}`);
      return undefined;
    }
    this.currentPart = undefined;
    return part;
  }

  private async dropPart(reason: string): Promise<void> {
    const part = this.currentPart;
    if (!part) return;
    this.currentPart = undefined;
    part.dispose();
    this.options.dropped();
    if (part.userId === undefined)
      await this.rejectLine(
        part.line,
        'invalid_user',
        "The line has neither issuer and subject nor id: nothing of the user's part is applied",
      );
    else
      await this.rejectLine(
        part.line,
        'incomplete',
        `Nothing of this user's part is applied: ${reason}`,
      );
  }

  private async rejectLine(line: number, code: string, message: string): Promise<undefined> {
    await this.options.reject({ line, code, message });
  }
}

function toUnreadableLine({ bytes }: Line): ParsedLine {
  const message =
    bytes > maxLineBytes
      ? `The line has ${bytes} bytes; the maximum is ${maxLineBytes}`
      : 'The line is not valid UTF-8';
  return { kind: 'unusable', message };
}
