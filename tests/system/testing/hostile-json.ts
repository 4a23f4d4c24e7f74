import fc from 'fast-check';

/** Bytes of a JSON text, which can be invalid. */
export type JsonBytes = Buffer;

const text = (json: string): JsonBytes => Buffer.from(json, 'utf8');
const bytes = (raw: string): JsonBytes => Buffer.from(raw, 'latin1');

/** Names with a meaning in JavaScript, and the names of the interface. */
export const reservedNames = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  'then',
  'toJSON',
  'length',
  '',
  '\u0000',
  'subscriptions',
  'episodes',
  'feed_url',
  'guid',
  'new_guid',
  'new_feed_url',
  'is_subscribed',
  'podcast_guid',
  'sync_id',
  'episode_guid',
  'title',
  'publish_date',
  'played_status',
  'value',
  'timestamp',
  'temporary_id',
];

const texts = [
  '',
  ' ',
  '\u0000',
  'a\u0000b',
  '\ud800',
  '\udc00x',
  '\u{1f399}',
  '\u202e',
  '\ufeff',
  "'; DROP TABLE x; --",
  '${7*7}',
  'http://',
  'https://\u0000',
  'https://a b',
  'http://[::1',
  'http://[::1]/',
  'javascript:1',
  'https://a\ud800.example/',
  '0000-00-00T00:00:00Z',
  '2023-02-23T14:00:00+99:99',
  '+275760-09-13T00:00:00Z',
  '9'.repeat(400),
  '2023-02-30T00:00Z',
  '00000000-0000-0000-0000-000000000000',
  'ffffffff-ffff-ffff-ffff-ffffffffffff',
  '%00',
  '..',
  'x'.repeat(5_000),
  `https://feeds.example/${'y'.repeat(4_080)}`,
];

const fixed: readonly JsonBytes[] = [
  ...[
    'null',
    'true',
    'false',
    '0',
    '-0',
    '1e308',
    '1e999',
    '-1e999',
    '1e-999',
    '9007199254740993',
    '0.1e1',
  ].map(text),
  ...[
    '1'.repeat(1_000),
    `0.${'3'.repeat(1_000)}`,
    '01',
    '+1',
    '.5',
    'NaN',
    'Infinity',
    'undefined',
    "'x'",
  ].map(text),
  ...[
    '[]',
    '{}',
    '[[]]',
    '[null]',
    '{"value":true,"timestamp":"2023-02-23T14:00"}',
    '{"__proto__":{"value":1}}',
  ].map(text),
  ...[
    '{"a":1,"a":{"a":2}}',
    '{"value":1,"value":true,"timestamp":1,"timestamp":"2023-02-23T14:00"}',
    '[1,]',
    '{"a"}',
  ].map(text),
  // Broken UTF-8: a lone continuation, an overlong slash, half a character, a surrogate, and a code
  // point above the maximum.
  ...[
    '"\x80"',
    '"\xc0\xaf"',
    '"\xc3"',
    '"\xed\xa0\x80"',
    '"\xf5\x80\x80\x80"',
    '\xff\xfe"\x00a\x00"',
  ].map(bytes),
  // A raw NUL and a raw line break in a string, an invalid escape, an escaped lone surrogate.
  ...['"\x00"', '"\n"', '"\\x41"', '"\\ud800"', '"\\ud800\\ud800"', '"\\u00zz"', '"'].map(bytes),
  ...[20, 31, 33, 1_000, 200_000].map((depth) => text('['.repeat(depth) + ']'.repeat(depth))),
  ...[30, 40, 50_000].map((depth) => text('{"a":'.repeat(depth) + '1' + '}'.repeat(depth))),
  text(`[${'0,'.repeat(9_999)}0]`),
  text(`[${'{},'.repeat(9_999)}{}]`),
  text(`{${Array.from({ length: 10_000 }, (_, index) => `"k${index}":0`).join(',')}}`),
];

/** A value of a wrong type or meaning. */
export const hostileValue: fc.Arbitrary<JsonBytes> = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...fixed) },
  { weight: 3, arbitrary: fc.constantFrom(...texts).map((value) => text(JSON.stringify(value))) },
  {
    weight: 2,
    arbitrary: fc
      .string({ unit: 'binary', maxLength: 60 })
      .map((value) => text(JSON.stringify(value))),
  },
  {
    weight: 2,
    arbitrary: fc.jsonValue({ maxDepth: 4 }).map((value) => text(JSON.stringify(value))),
  },
  { weight: 1, arbitrary: fc.double().map((value) => text(String(value))) },
);

const mark = '@@here@@';

/** A document with one replaced value at any position, or with one more or repeated member. */
export function corrupted(document: unknown): fc.Arbitrary<JsonBytes> {
  const positions = positionsOf(document, []);
  const replaced = fc
    .tuple(fc.constantFrom(...positions), hostileValue)
    .map(([position, value]) =>
      insert(JSON.stringify(withMark(document, position)), `"${mark}"`, value),
    );
  const added = fc
    .tuple(fc.constantFrom(...reservedNames), fc.nat(), hostileValue)
    .map(([name, place, value]) => {
      const whole = JSON.stringify(document);
      const braces = [...whole.matchAll(/\{/g)].map(({ index }) => index + 1);
      const at = braces[place % braces.length] as number;
      const marked = `${whole.slice(0, at)}${JSON.stringify(name)}:${mark},${whole.slice(at)}`;
      return insert(marked.replace(',}', '}'), mark, value);
    });
  const cut = fc.nat().map((length) => {
    const whole = JSON.stringify(document);
    return text(whole.slice(0, length % whole.length));
  });
  return fc.oneof(
    { weight: 8, arbitrary: replaced },
    { weight: 4, arbitrary: added },
    { weight: 1, arbitrary: cut },
  );
}

function insert(marked: string, at: string, value: JsonBytes): JsonBytes {
  const [before = '', after = ''] = marked.split(at);
  return Buffer.concat([Buffer.from(before), value, Buffer.from(after)]);
}

function positionsOf(value: unknown, here: readonly string[]): (readonly string[])[] {
  if (typeof value !== 'object' || value === null) return [here];
  return [
    here,
    ...Object.entries(value).flatMap(([name, inner]) => positionsOf(inner, [...here, name])),
  ];
}

function withMark(value: unknown, [name, ...rest]: readonly string[]): unknown {
  if (name === undefined) return mark;
  if (Array.isArray(value))
    return value.map((item, index) => (String(index) === name ? withMark(item, rest) : item));
  const fields = value as Record<string, unknown>;
  return { ...fields, [name]: withMark(fields[name], rest) };
}
