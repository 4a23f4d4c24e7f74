import { z } from 'zod';

/**
 * A value as JSON, made once where the data is and handed on as it is: whoever is between the service and the client
 * reads it as little as they would the inside of an envelope.
 */
export class JsonText<Value = unknown> {
  /** What it holds, for the compiler. */
  declare private readonly value: Value;

  private constructor(
    /** Holds no control character, as JSON has none and {@link of} adds no white space. */
    readonly text: string | Buffer,
  ) {}

  /** @throws TypeError for what JSON does not have. */
  static of<Value>(value: Value): JsonText<Value> {
    return new JsonText(JSON.stringify(value));
  }

  /** Text that {@link of} made, here or in another process. */
  static from<Value>(text: string | Buffer): JsonText<Value> {
    return new JsonText(text);
  }

  /** One text of several parts, each as it is. */
  static concat(...parts: (string | JsonText)[]): JsonText {
    const texts = parts.map((part) => (typeof part === 'string' ? part : part.text));
    return new JsonText(Buffer.concat(texts.map((text) => (typeof text === 'string' ? Buffer.from(text) : text))));
  }

  parse(): Value {
    return JSON.parse(this.toString()) as Value;
  }

  /** @throws TypeError where it would be printed as an object: a text is put in its place as it is, or was overlooked. */
  toJSON(): never {
    throw new TypeError('a JsonText is JSON already');
  }

  toString(): string {
    return this.text.toString();
  }
}

/** A part of a reply that is {@link JsonText}: the whole of it, or one of its fields. */
export interface JsonOf<Content extends z.ZodType> extends z.ZodType<JsonText<z.output<Content>>> {
  /** What the text holds. The compiler sees to it where it is made; nobody looks again. */
  readonly content: Content;
}

export function jsonOf<Content extends z.ZodType>(content: Content): JsonOf<Content> {
  const schema = z.custom<JsonText<z.output<Content>>>((value) => value instanceof JsonText);
  return Object.assign(schema, { content });
}
