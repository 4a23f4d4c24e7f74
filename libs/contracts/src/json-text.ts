import { z } from 'zod';

/** A value as JSON text, which processes forward from a service to the client without parsing. */
export class JsonText<Value = unknown> {
  /** Only for the type checker. The property does not exist at run time. */
  declare private readonly value: Value;

  private constructor(
    /**
     * JSON from {@link of}. The text contains no line feed, because JSON.stringify adds none and
     * escapes those in strings. So a message can separate several texts by line feeds.
     */
    readonly text: string | Buffer,
  ) {}

  /** Serializes a value. @throws TypeError for a value that JSON can't represent. */
  static of<Value>(value: Value): JsonText<Value> {
    return new JsonText(JSON.stringify(value));
  }

  /** Wraps the text of a JsonText. @param text result of {@link of} in this or another process. */
  static from<Value>(text: string | Buffer): JsonText<Value> {
    return new JsonText(text);
  }

  static concat(...parts: (string | JsonText)[]): JsonText {
    const texts = parts.map((part) => (typeof part === 'string' ? part : part.text));
    return new JsonText(
      Buffer.concat(texts.map((text) => (typeof text === 'string' ? Buffer.from(text) : text))),
    );
  }

  parse(): Value {
    return JSON.parse(this.toString()) as Value;
  }

  /** Prevents JSON.stringify() from encoding the text again. @throws TypeError always. */
  toJSON(): never {
    throw new TypeError('a JsonText is JSON already');
  }

  toString(): string {
    return this.text.toString();
  }
}

/** The schema of a {@link JsonText} in a reply. */
export interface JsonOf<Content extends z.ZodType> extends z.ZodType<JsonText<z.output<Content>>> {
  /** Schema of the value, for types and documents only. No process validates the value. */
  readonly content: Content;
}

export function jsonOf<Content extends z.ZodType>(content: Content): JsonOf<Content> {
  const schema = z.custom<JsonText<z.output<Content>>>((value) => value instanceof JsonText);
  return Object.assign(schema, { content });
}
