import { describe, expect, it } from 'vitest';
import { JsonText } from '#contracts';
import {
  decodeEntry,
  decodeReplies,
  encodePayload,
  encodeReply,
  encodeRequest,
  encodeResult,
  joinReplies,
  addedAt,
  type WireRequest,
  type WireResult,
  serviceKeys,
} from './format.js';

const request: WireRequest = {
  pattern: 'episode.list',
  data: '{"text":"ä\\n"}',
  timeLimitMs: 5_000,
  metadata: { requestId: 'r' },
  reply: { channel: 'rpc:replies:x', id: '1' },
};

describe('a request on the wire', () => {
  it('is decoded unchanged', () => {
    expect(decodeEntry('1700000000000-0', encodeRequest(request))?.request).toEqual(request);
  });

  it('is written in the form that other releases read', () => {
    const fields = {
      pattern: 'episode.list',
      data: request.data,
      budget: '5000',
      meta: '{"requestId":"r"}',
      channel: 'rpc:replies:x',
      id: '1',
    };
    expect(encodeRequest(request)).toEqual(Object.entries(fields).flat());
  });

  it('has a deadline that counts from its addition, and ignores unknown fields', () => {
    const fields = encodeRequest(request);
    for (const sent of [fields, ['later', '1', ...fields]])
      expect(decodeEntry('1700000000000-0', sent)).toEqual({
        id: '1700000000000-0',
        deadline: 1_700_000_005_000,
        request,
      });
  });

  it('keeps the JSON texts of its payload', () => {
    const payload = {
      userId: 'ä',
      none: undefined,
      most: 1,
      body: JsonText.from('{ "a": 1e999 }'),
    };
    expect(encodePayload(payload)).toBe('{"userId":"ä","most":1,"body":{ "a": 1e999 }}');
    expect(encodePayload({})).toBe('{}');
  });

  it('accepts fields of newer releases', () => {
    const fields = [...encodeRequest(request), 'priority', 'high'];
    expect(decodeEntry('1700000000000-0', fields)?.request).toEqual(request);
  });

  it.each([
    ['nothing', []],
    ['no pattern', encodeRequest(request).slice(2)],
    ['nowhere to reply to', encodeRequest(request).slice(0, -4)],
    ['a budget of nothing', encodeRequest({ ...request, timeLimitMs: 0 })],
    ['a budget that is no number', encodeRequest({ ...request, timeLimitMs: Number.NaN })],
    [
      'metadata that is no JSON',
      encodeRequest(request).map((part) => (part.startsWith('{"req') ? '{' : part)),
    ],
  ])('with %s is none', (_, fields) => {
    expect(decodeEntry('1700000000000-0', fields)).toBeUndefined();
  });
});

describe('replies on the wire', () => {
  const decode = (message: string) => {
    const found: [id: string, result: WireResult][] = [];
    decodeReplies(Buffer.from(message), (id, result) => found.push([id, result()]));
    return found;
  };
  const results: WireResult[] = [
    { value: { text: 'a\nb' } },
    { value: null },
    {},
    { error: { code: 'gone' } },
  ];

  it.each(results)('are decoded unchanged: %j', (result) => {
    expect(decode(encodeReply('1z', encodeResult(result)))).toEqual([['1z', result]]);
  });

  it('are written in the form that other releases read', () => {
    const replies = [
      encodeReply('1', encodeResult({ value: [1] })),
      encodeReply('2', encodeResult({ error: {} })),
    ];
    expect(joinReplies(replies)).toBe('1\n{"value":[1]}\n2\n{"error":{}}');
  });

  it('are decoded from one message', () => {
    const replies = results.map((result, index) =>
      encodeReply(String(index), encodeResult(result)),
    );
    expect(decode(joinReplies(replies))).toEqual(
      results.map((result, index) => [String(index), result]),
    );
  });

  it("that can't be parsed fail only their own call", () => {
    expect(decode('1\n{')).toEqual([['1', { error: expect.any(SyntaxError) }]]);
    expect(decode('nothing of ours')).toEqual([]);
  });
});

describe('a JSON text in a reply', () => {
  const texts = (message: string) => {
    const found: unknown[] = [];
    decodeReplies(Buffer.from(message), (id, result) => {
      const { value } = result() as { value: JsonText | { items: JsonText } };
      found.push(
        value instanceof JsonText
          ? [id, String(value)]
          : [id, { ...value, items: String(value.items) }],
      );
    });
    return found;
  };
  const json = '{"title":"ä 😀 \\n\\t\\"","note":"\\u0000\\ud800"  ,"list":[1.0,{}]}';

  it('is decoded byte for byte, and not serialized again', () => {
    const whole = encodeReply('1z', encodeResult({ value: JsonText.from(json) }));
    expect(whole).toBe(`1z\n{"text":""}\t${json}`);
    expect(texts(whole)).toEqual([['1z', json]]);
  });

  it('is decoded as a field next to others', () => {
    const value = { total: 2, items: JsonText.from(json), clock: 'a\tb\n' };
    const part = encodeReply('1z', encodeResult({ value }));
    expect(part).toBe(`1z\n{"value":{"total":2,"clock":"a\\tb\\n"},"text":"items"}\t${json}`);
    expect(texts(part)).toEqual([['1z', { ...value, items: json }]]);
  });

  it.each(['line\nfeed', 'tab\tand more\t', '\0', 'ä 漢 😀', '\ud800', ''])(
    'holds any string: %j',
    (title) => {
      const [[, text]] = texts(
        encodeReply('1', encodeResult({ value: JsonText.of([{ title }]) })),
      ) as [[string, string]];
      expect(JSON.parse(text)).toEqual([{ title }]);
    },
  );

  it('is separated from other replies in one message', () => {
    const results = [
      { value: JsonText.from('["ä"]') },
      { value: { items: JsonText.from('[2]'), more: true } },
    ];
    const [first, second] = results.map(encodeResult) as [string, string];
    const encoded = [first, second, '{"value":{"items":[3]}}', first];
    const message = joinReplies(encoded.map((text, index) => encodeReply(String(index), text)));
    const found: unknown[] = [];
    decodeReplies(Buffer.from(message), (id, result) => found.push([id, encodeResult(result())]));
    expect(found).toEqual(encoded.map((text, index) => [String(index), text]));
  });

  it('fails only its own call if the text before it is not JSON', () => {
    const found: unknown[] = [];
    decodeReplies(Buffer.from('1\n{"text":\t[]'), (id, result) => found.push([id, result()]));
    expect(found).toEqual([['1', { error: expect.any(SyntaxError) }]]);
  });
});

describe('names', () => {
  it('of the keys of a service have one hash slot', () => {
    const tags = Object.values(serviceKeys('episode')).map((key) => /^\{(.+)\}:/.exec(key)?.[1]);
    expect(new Set(tags)).toEqual(new Set(['rpc:episode']));
  });

  it('of entries contain their time', () => {
    expect(addedAt('1700000000000-12')).toBe(1_700_000_000_000);
  });
});
