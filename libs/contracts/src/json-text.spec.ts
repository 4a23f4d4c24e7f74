import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { jsonOf, JsonText } from './json-text.js';

describe('a JSON text', () => {
  it('holds a value as JSON without line feeds and tabs, and gives it back', () => {
    const value = { title: 'ä 😀 \n\t\0', list: [1, null, false] };
    const text = JsonText.of(value);
    expect(String(text)).toBe(JSON.stringify(value));
    expect(String(text)).not.toMatch(/[\n\t\0]/);
    expect(text.parse()).toEqual(value);
  });

  it('omits missing values, and never writes null', () => {
    expect(String(JsonText.of({ feed_url: 'u', new_guid: undefined }))).toBe('{"feed_url":"u"}');
  });

  it('rejects values without a JSON form', () => {
    expect(() => JsonText.of({ id: 1n })).toThrow(TypeError);
  });

  it.each(['{"a":1.0, "ä":"\\ud800"}', Buffer.from('{"a":1.0, "ä":"\\ud800"}')])(
    'that was made elsewhere stays as it is: %s',
    (made) => {
      expect(JsonText.from(made).text).toBe(made);
      expect(String(JsonText.from(made))).toBe('{"a":1.0, "ä":"\\ud800"}');
      expect(JsonText.from(made).parse()).toEqual({ a: 1, ä: '\ud800' });
    },
  );

  it('can be put together of parts, each as it is', () => {
    const whole = JsonText.concat(
      '{"title":"ä","items":',
      JsonText.from(Buffer.from('["😀", 1.0]')),
      '}',
    );
    expect(String(whole)).toBe('{"title":"ä","items":["😀", 1.0]}');
    expect(String(JsonText.concat('[', JsonText.of(1), ']'))).toBe('[1]');
  });
});

describe('a part of a reply that is one', () => {
  const part = jsonOf(z.object({ title: z.string() }));

  it('is passed on as it is, and its content is not parsed', () => {
    const text = JsonText.from<{ title: string }>('not parsed');
    expect(part.parse(text)).toBe(text);
  });

  it.each([{ title: 'a value' }, '{"title":"a string"}', undefined, null])(
    'is nothing else: %j',
    (value) => {
      expect(part.safeParse(value).success).toBe(false);
    },
  );

  it('returns the parsed text', () => {
    expect(part.content.parse(JsonText.of({ title: 't' }).parse())).toEqual({ title: 't' });
  });
});
