/** Error for a response of the other server that does not follow the protocol. */
export class ResponseError extends Error {}

/** Maximum characters of one element of the array, and of the JSON outside the array. */
const maxCharacters = 65_536;

const [quote, backslash, comma, openSquare, closeSquare] = [0x22, 0x5c, 0x2c, 0x5b, 0x5d];

/** Parses a JSON object as it arrives. Has one element of a large array in memory at a time. */
export class JsonArrayReader {
  /** The JSON outside of the array. */
  private rest = '';
  private element = '';
  private depth = 0;
  private inString = false;
  private isEscaped = false;
  private inArray = false;

  /** @param key name of the array in the object. */
  constructor(private readonly key: string) {}

  /**
   * Generates the elements of the array as JSON texts.
   *
   * @returns the object, with an empty array.
   * @throws ResponseError for a truncated response, or one without the array.
   */
  async *read(chunks: AsyncIterable<string>): AsyncGenerator<string, Record<string, unknown>> {
    for await (const chunk of chunks) yield* this.readChunk(chunk);
    if (this.depth !== 0 || this.inString)
      throw new ResponseError("the other server's response is truncated: try again");
    const value = parseResponse(this.rest);
    if (
      typeof value !== 'object' ||
      value === null ||
      !Array.isArray((value as Record<string, unknown>)[this.key])
    )
      throw new ResponseError(`the other server's response has no array "${this.key}"`);
    return value as Record<string, unknown>;
  }

  private *readChunk(chunk: string): Generator<string> {
    let from = 0;
    for (let at = 0; at < chunk.length; at++) {
      const code = chunk.charCodeAt(at);
      if (this.inString) this.readStringCode(code);
      else if (code === quote) this.inString = true;
      else if (this.inArray && this.depth === 2 && (code === comma || code === closeSquare)) {
        this.element += chunk.slice(from, at);
        from = code === comma ? at + 1 : at;
        if (this.element.trim() !== '') yield this.element;
        this.element = '';
        if (code === closeSquare) this.leaveArray();
      } else if ((code | 0x20) === 0x7b) {
        this.depth += 1;
        if (code === openSquare && this.depth === 2 && this.endsWithKey(chunk.slice(from, at))) {
          this.rest += chunk.slice(from, at + 1);
          from = at + 1;
          this.inArray = true;
        }
      } else if ((code | 0x20) === 0x7d) this.depth -= 1;
    }
    this.append(chunk.slice(from));
  }

  private leaveArray(): void {
    this.inArray = false;
    this.depth -= 1;
  }

  private readStringCode(code: number): void {
    if (this.isEscaped) this.isEscaped = false;
    else if (code === backslash) this.isEscaped = true;
    else if (code === quote) this.inString = false;
  }

  private endsWithKey(before: string): boolean {
    const text = (this.rest.slice(-256) + before).trimEnd();
    return text.endsWith(':') && text.slice(0, -1).trimEnd().endsWith(JSON.stringify(this.key));
  }

  private append(text: string): void {
    if (this.inArray) this.element += text;
    else this.rest += text;
    if (this.element.length > maxCharacters || this.rest.length > maxCharacters)
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
