import { isDeepStrictEqual } from 'node:util';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { z } from 'zod';
import type { JsonOf } from '../src/index.js';

/** The recorded forms in which a release writes and reads a message. */
export interface Recorded {
  /** Schema of the messages that the release reads. */
  readonly schema: JsonSchema;
  /** Messages that the release writes, one of each form. */
  readonly messages: readonly unknown[];
  /** Names of the fields that are sent as JSON texts, or `(all)`. */
  readonly texts: readonly string[];
}

interface JsonSchema {
  type?: string | string[];
  const?: unknown;
  enum?: unknown[];
  anyOf?: JsonSchema[];
  oneOf?: JsonSchema[];
  properties?: Record<string, JsonSchema>;
  required?: string[];
  additionalProperties?: JsonSchema | boolean;
  items?: JsonSchema;
  prefixItems?: JsonSchema[];
  format?: string;
  pattern?: string;
  minimum?: number;
  exclusiveMinimum?: number;
}

/** Returns the schema of a message on the wire: JSON texts are replaced by their content. */
function onWire(message: z.ZodType): z.ZodType {
  if ('content' in message) return (message as JsonOf<z.ZodType>).content;
  if (message instanceof z.ZodDiscriminatedUnion)
    return z.discriminatedUnion(
      message.def.discriminator,
      (message.options as z.ZodType[]).map(onWire) as [z.ZodObject],
    );
  if (!(message instanceof z.ZodObject)) return message;
  const fields = Object.entries(message.shape as Record<string, z.ZodType>);
  return message.extend(Object.fromEntries(fields.map(([name, field]) => [name, onWire(field)])));
}

/** Returns the names of fields that are JSON texts; `(all)` if the whole message is a JSON text. */
function textsIn(message: z.ZodType): string[] {
  if ('content' in message) return ['(all)'];
  if (message instanceof z.ZodDiscriminatedUnion)
    return (message.options as z.ZodType[]).flatMap(textsIn);
  if (!(message instanceof z.ZodObject)) return [];
  const fields = Object.entries(message.shape as Record<string, z.ZodType>);
  return fields.filter(([, field]) => 'content' in field).map(([name]) => name);
}

/** Records a message as this build reads and writes it. The result is deterministic. */
export function record(message: z.ZodType): Recorded {
  // The schema of a reader, which accepts unknown fields. A format replaces its long pattern.
  // Documentation, such as names and examples, is omitted.
  const schema = z.toJSONSchema(onWire(message), {
    io: 'input',
    metadata: z.registry(),
    override: ({ jsonSchema }) => void (jsonSchema.format && delete jsonSchema.pattern),
  }) as JsonSchema;
  return { schema, messages: forms(schema), texts: textsIn(message) };
}

/** Returns the reasons why a release and this build can't read each other's messages, if any. */
export function breaks(release: Recorded, message: z.ZodType): string[] {
  const ajv = new Ajv2020({ strict: false });
  formats.default(ajv);
  const readsThen = ajv.compile(release.schema);
  const { messages: writtenNow, texts } = record(message);
  const readNow = onWire(message);
  return [
    ...(isDeepStrictEqual(texts, release.texts)
      ? []
      : [
          `sent as JSON text: ${texts.join() || 'nothing'}; ` +
            `by that release: ${release.texts.join() || 'nothing'}`,
        ]),
    ...release.messages.flatMap((written) => {
      const { success, data, error } = readNow.safeParse(written);
      if (!success)
        return [
          `this build rejects a message of that release: ${faults(error)} ` +
            `in ${JSON.stringify(written)}`,
        ];
      return isDeepStrictEqual(data, written)
        ? []
        : [
            `this build drops or changes a part of a message of that release: ` +
              JSON.stringify(written),
          ];
    }),
    ...writtenNow
      .filter((written) => !readsThen(written))
      .map((written) => {
        readsThen(written);
        const reasons = ajv.errorsText(readsThen.errors);
        return `it rejects a message of this build: ${reasons} in ${JSON.stringify(written)}`;
      }),
  ];
}

const faults = ({ issues }: z.ZodError) =>
  issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ');

/** Returns one value for each form that a schema allows: the smallest first, the fullest last. */
function forms(schema: JsonSchema): unknown[] {
  if ('const' in schema) return [schema.const];
  if (schema.enum) return schema.enum;
  const alternatives = schema.anyOf ?? schema.oneOf;
  if (alternatives) return alternatives.flatMap(forms);
  if (Array.isArray(schema.type)) return schema.type.flatMap((type) => forms({ ...schema, type }));
  switch (schema.type) {
    case 'object':
      return objects(schema);
    case 'array':
      if (schema.prefixItems) return [schema.prefixItems.map((item) => forms(item).at(-1))];
      return [[], forms(schema.items ?? {})];
    case 'string':
      return strings(schema);
    case 'integer':
    case 'number':
      return numbers(schema);
    case 'boolean':
      return [false, true];
    case 'null':
      return [null];
    case undefined:
      // A field of any type, which a client sent.
      return [null, { any: ['thing'] }];
    default:
      throw new Error(`unsupported type of value: ${schema.type}`);
  }
}

/** Returns examples of an object: required fields only, all fields, and each form of a field. */
function objects({ properties = {}, required = [], additionalProperties }: JsonSchema): unknown[] {
  if (typeof additionalProperties === 'object')
    return [{}, { name: forms(additionalProperties).at(-1) }];
  const fields = Object.entries(properties).map(([name, field]) => ({
    name,
    values: forms(field),
  }));
  const bare = fields
    .filter(({ name }) => required.includes(name))
    .map(({ name, values }) => [name, values[0]]);
  const full = Object.fromEntries(
    fields.map(({ name, values }) => [name, values.at(-1)]),
  ) as object;
  const others = fields.flatMap(({ name, values }) =>
    values.slice(required.includes(name) ? 1 : 0, -1).map((value) => ({ ...full, [name]: value })),
  );
  return [Object.fromEntries(bare), ...others, full];
}

function strings({ format, pattern }: JsonSchema): unknown[] {
  if (format === 'uuid')
    return ['00000000-0000-0000-0000-000000000000', 'ad9fd16d-2a4f-5c3c-8f2c-9a8b7c6d5e4f'];
  if (format === 'date-time') return ['0001-01-01T00:00:00.000Z', '2023-02-23T14:00:00.123Z'];
  if (format === 'uri') return ['http://a.example', 'https://a.example/b?c=d'];
  if (pattern)
    return [
      'A'.repeat(43),
      '0001-01-01T00:00',
      '2023-02-23T14:00',
      'episodes',
      'subscriptions,episodes',
    ].filter((text) => new RegExp(pattern).test(text));
  return ['', 'ä "text"'];
}

function numbers({ type, minimum, exclusiveMinimum }: JsonSchema): unknown[] {
  const least = minimum ?? (exclusiveMinimum ?? -2) + 1;
  return [least, type === 'number' ? 90.5 : Math.max(least, 0) + 1];
}
