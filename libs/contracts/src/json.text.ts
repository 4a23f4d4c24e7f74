import { z } from 'zod';

/** A value as JSON from the service that owns it. No process parses it on the way to the client. */
export class JsonText<Value = unknown> {
  /** Carries the type only. */
  declare private readonly value: Value;

  private constructor(
    /** Has no control characters: JSON escapes them, and {@link of} adds no white space. */
    readonly text: string | Buffer,
  ) {}

  /** Serializes a value. @throws TypeError for a value that JSON can't represent. */
  static of<Value>(value: Value): JsonText<Value> {
    return new JsonText(JSON.stringify(value));
  }

  /** Wraps a text. @param text a result of {@link of}, from this or another process. */
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

  /** Prevents double encoding by JSON.stringify(). @throws TypeError always. */
  toJSON(): never {
    throw new TypeError('a JsonText is JSON already');
  }

  toString(): string {
    return this.text.toString();
  }
}

/** The schema of a {@link JsonText}: a reply or a field of one. */
export interface JsonOf<Content extends z.ZodType> extends z.ZodType<JsonText<z.output<Content>>> {
  /** The schema of the value, for the compiler only. It is not validated at run time. */
  readonly content: Content;
}

export function jsonOf<Content extends z.ZodType>(content: Content): JsonOf<Content> {
  const schema = z.custom<JsonText<z.output<Content>>>((value) => value instanceof JsonText);
  return Object.assign(schema, { content });
}
