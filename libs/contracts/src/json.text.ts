import { z } from 'zod';

/** A value that the service which owns it has serialized to JSON; on its way to the client nothing parses it. */
export class JsonText<Value = unknown> {
  /** Exists for the compiler only. */
  declare private readonly value: Value;

  private constructor(
    /** Without control characters: JSON escapes them, and {@link of} adds no white space. */
    readonly text: string | Buffer,
  ) {}

  /** @throws TypeError for what JSON does not have. */
  static of<Value>(value: Value): JsonText<Value> {
    return new JsonText(JSON.stringify(value));
  }

  /** @param text that {@link of} made, here or in another process. */
  static from<Value>(text: string | Buffer): JsonText<Value> {
    return new JsonText(text);
  }

  /** Joins parts of a JSON text. */
  static concat(...parts: (string | JsonText)[]): JsonText {
    const texts = parts.map((part) => (typeof part === 'string' ? part : part.text));
    return new JsonText(Buffer.concat(texts.map((text) => (typeof text === 'string' ? Buffer.from(text) : text))));
  }

  parse(): Value {
    return JSON.parse(this.toString()) as Value;
  }

  /** @throws TypeError always: its text has to be inserted as it is, and JSON.stringify() would make it a string. */
  toJSON(): never {
    throw new TypeError('a JsonText is JSON already');
  }

  toString(): string {
    return this.text.toString();
  }
}

/** The schema of a reply, or of a field of one, that is {@link JsonText}. */
export interface JsonOf<Content extends z.ZodType> extends z.ZodType<JsonText<z.output<Content>>> {
  /** The schema of the value. The compiler checks it where the text is made; it is not validated at run time. */
  readonly content: Content;
}

export function jsonOf<Content extends z.ZodType>(content: Content): JsonOf<Content> {
  const schema = z.custom<JsonText<z.output<Content>>>((value) => value instanceof JsonText);
  return Object.assign(schema, { content });
}
