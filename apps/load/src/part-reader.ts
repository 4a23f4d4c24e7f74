import { type DataUser, maxLineBytes } from '#contracts';
import { readLine, type ParsedLine } from './data-line.js';
import { type Line, linesOf, type FileOffset } from './line-reader.js';
import { type CompletePart, type RejectedLine, UserPart } from './user-part.js';

interface Reading {
  readonly userId: (user: DataUser) => string;
  /** Receives each invalid line, and each user with an incomplete part. */
  readonly reject: (rejectedLine: RejectedLine) => Promise<void>;
  /** Called for each user whose part is not applied. */
  readonly dropped: () => void;
}

/**
 * Yields the users' parts of a file. Invariants:
 * - a part is yielded only after its line `end`, and if the counts of that line are correct;
 * - memory for parts is bounded (`ChunkSpool`).
 */
export class PartReader {
  isComplete = false;
  private part: UserPart | undefined;

  constructor(private readonly reading: Reading) {}

  /** Yields complete parts. @throws FormatError for another format, or the stream's error. */
  async *parts(stream: AsyncIterable<Buffer>, from: FileOffset): AsyncGenerator<CompletePart> {
    try {
      for await (const lines of linesOf(stream, from))
        for (const line of lines) {
          const result = this.readLine(line);
          // A promise per line would cost as much as the line.
          const complete = result instanceof Promise ? await result : result;
          if (complete) yield { part: complete, next: { offset: line.end, line: line.number } };
        }
    } finally {
      await this.dropPart('the file ends before the line "end" of the part');
    }
  }

  /** Processes a line. @returns the user's part, if the line completes it. */
  private readLine(line: Line): Promise<UserPart | undefined> | UserPart | undefined {
    const { text, number, bytes } = line;
    if (text === '' || text === '\r') return undefined;
    const parsed = text === undefined ? toUnreadableLine(line) : readLine(text);
    const { part } = this;
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

  private async beginPart(user: DataUser | undefined, number: number): Promise<undefined> {
    await this.dropPart('another line "user" comes before the line "end" of the part');
    this.part = new UserPart(user && this.reading.userId(user), number);
  }

  private async endPart(
    part: UserPart,
    { end }: ParsedLine & { kind: 'end' },
    number: number,
  ): Promise<UserPart | undefined> {
    const missing = part.describeMissing(end);
    if (missing !== undefined || part.userId === undefined) {
      await this.dropPart(`line ${number}: ${missing}`);
      return undefined;
    }
    this.part = undefined;
    return part;
  }

  private async dropPart(why: string): Promise<void> {
    const { part } = this;
    if (!part) return;
    this.part = undefined;
    part.dispose();
    this.reading.dropped();
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
        `Nothing of this user's part is applied: ${why}`,
      );
  }

  private async rejectLine(line: number, code: string, message: string): Promise<undefined> {
    await this.reading.reject({ line, code, message });
  }
}

function toUnreadableLine({ bytes }: Line): ParsedLine {
  const message =
    bytes > maxLineBytes
      ? `The line has ${bytes} bytes; the maximum is ${maxLineBytes}`
      : 'The line is not valid UTF-8';
  return { kind: 'unusable', message };
}
