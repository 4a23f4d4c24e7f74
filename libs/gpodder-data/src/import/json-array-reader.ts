/** Error for a response of the other server that does not follow the protocol. */
export class ResponseError extends Error {}

/** Maximum characters of one element of the array, and of the JSON outside the array. */
const maxCharacters = 65_536;

const [quote, backslash, comma, openSquare, closeSquare] = [0x22, 0x5c, 0x2c, 0x5b, 0x5d];

/** Parses a JSON object while it arrives, with only one element of a large array in memory. */
export class JsonArrayReader {
  /** The JSON outside of the array. */
  private outerJson = '';
  private element = '';
  private depth = 0;
  private isInString = false;
  private isEscaped = false;
  private isInArray = false;

  /** @param key name of the array in the object. */
  constructor(private readonly key: string) {}

  /**
   * Generates the elements of the array as JSON texts.
   *
   * @returns the parsed object, in which the array is empty.
   * @throws ResponseError for a truncated response, or one without the array.
   */
  async *read(chunks: AsyncIterable<string>): AsyncGenerator<string, Record<string, unknown>> {
    for await (const chunk of chunks) yield* this.readChunk(chunk);
    if (this.depth !== 0 || this.isInString)
      throw new ResponseError("the other server's response is truncated: try again");
    const value = parseResponse(this.outerJson);
    if (
      typeof value !== 'object' ||
      value === null ||
      !Array.isArray((value as Record<string, unknown>)[this.key])
    )
      throw new ResponseError(`the other server's response has no array "${this.key}"`);
    return value as Record<string, unknown>;
  }

  private *readChunk(chunk: string): Generator<string> {
    let start = 0;
    // `[` and `{` differ only in the bit 0x20, as do `]` and `}`.
    for (let index = 0; index < chunk.length; index++) {
      const code = chunk.charCodeAt(index);
      if (this.isInString) this.readStringCode(code);
      else if (code === quote) this.isInString = true;
      else if (this.isInArray && this.depth === 2 && (code === comma || code === closeSquare)) {
        this.element += chunk.slice(start, index);
        start = code === comma ? index + 1 : index;
        if (this.element.trim() !== '') yield this.element;
        this.element = '';
        if (code === closeSquare) this.leaveArray();
      } else if ((code | 0x20) === 0x7b) {
        this.depth += 1;
        if (
          code === openSquare &&
          this.depth === 2 &&
          this.endsWithKey(chunk.slice(start, index))
        ) {
          this.outerJson += chunk.slice(start, index + 1);
          start = index + 1;
          this.isInArray = true;
        }
      } else if ((code | 0x20) === 0x7d) this.depth -= 1;
    }
    this.appendJson(chunk.slice(start));
  }

  private leaveArray(): void {
    this.isInArray = false;
    this.depth -= 1;
  }

  private readStringCode(code: number): void {
    if (this.isEscaped) this.isEscaped = false;
    else if (code === backslash) this.isEscaped = true;
    else if (code === quote) this.isInString = false;
  }

  /** Returns true if the JSON before an array ends with the key of the array and a colon. */
  private endsWithKey(before: string): boolean {
    const jsonBefore = (this.outerJson.slice(-256) + before).trimEnd();
    return (
      jsonBefore.endsWith(':') &&
      jsonBefore.slice(0, -1).trimEnd().endsWith(JSON.stringify(this.key))
    );
  }

  private appendJson(text: string): void {
    if (this.isInArray) this.element += text;
    else this.outerJson += text;
    if (this.element.length > maxCharacters || this.outerJson.length > maxCharacters)
      throw new ResponseError(
        `the other server's response is too large: one element of "${this.key}", or all other ` +
          `fields together, exceed ${maxCharacters} characters`,
      );
  }
}

/** Parses the JSON of a response. @throws ResponseError for invalid JSON. */
export function parseResponse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new ResponseError("the other server's response is not JSON");
  }
}
