import { describe, expect, it } from 'vitest';
import { hashOfBody, writeIdentity } from './write-identity.js';

const body = Buffer.from('{"subscriptions":[]}');

function identity(parts: { method?: string; url?: string; key?: string; body?: Buffer } = {}) {
  const headers = parts.key === undefined ? {} : { 'idempotency-key': parts.key };
  const bodyHash = parts.body && hashOfBody(headers, parts.body);
  return writeIdentity({
    method: parts.method ?? 'POST',
    url: parts.url ?? '/subscriptions',
    headers,
    bodyHash,
  });
}

describe('the identity of a write', () => {
  it('with a key is the same for the same request, across releases', () => {
    const expected = {
      requestId: '3a749b84-d681-5f03-9636-3ca6ab00b71a',
      fingerprint: '03f403705e9da34a6ab3b2d7b329dd9338e282e7167d5b0e27474ad8c33993a7',
    };
    expect(identity({ key: 'a', body })).toEqual(expected);
  });

  it('has an id per key, and a fingerprint per method, path and body', () => {
    const first = { key: 'a', method: 'PATCH', url: '/subscriptions/1', body };
    const others = [
      { ...first, method: 'DELETE' },
      { ...first, url: '/subscriptions/2' },
      { ...first, url: '/subscriptions/1?timestamp=2026-01-01T00:00:00Z' },
      { ...first, body: Buffer.from('{"subscriptions": []}') },
      { ...first, body: undefined },
    ].map(identity);
    for (const each of others) expect(each.requestId).toBe(identity(first).requestId);
    expect(new Set([...others, identity(first)].map(({ fingerprint }) => fingerprint)).size).toBe(
      6,
    );
  });

  it('is the same below /v1 and at /, and with an empty body and none', () => {
    expect(identity({ key: 'a', url: '/v1/subscriptions', body })).toEqual(
      identity({ key: 'a', body }),
    );
    expect(identity({ key: 'a', body: Buffer.alloc(0) })).toEqual(identity({ key: 'a' }));
  });

  it('without a key is random and has no fingerprint', () => {
    expect(identity({ body })).toEqual({
      requestId: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
    });
    expect(identity({ body }).requestId).not.toBe(identity({ body }).requestId);
  });

  it('of a key differs from that of another key and from random ones', () => {
    const ids = ['a', 'A', identity().requestId].map((key) => identity({ key }).requestId);
    expect(new Set(ids).size).toBe(3);
    for (const id of ids) expect(id[14]).toBe('5');
    expect(identity().requestId[14]).toBe('4');
  });

  it("of one request's several writes differs per part, with equal fingerprints", () => {
    const of = (key: string, part?: string) =>
      writeIdentity(
        { method: 'POST', url: '/subscriptions/opml', headers: { 'idempotency-key': key } },
        part,
      );
    expect(of('a', '250+250')).toEqual(of('a', '250+250'));
    const all = [
      of('a'),
      of('a', '250+250'),
      of('a', '500+250'),
      of('b', '250+250'),
      of('a250+250'),
    ];
    expect(new Set(all.map(({ requestId }) => requestId)).size).toBe(5);
    expect(new Set(all.map(({ fingerprint }) => fingerprint)).size).toBe(1);
  });

  it.each(['', 'a b', 'ä', '\t', '~'.repeat(256)])('is invalid with the key %j', (key) => {
    expect(() => identity({ key })).toThrow('invalid');
  });
});

it('a body is hashed only with a key', () => {
  expect(hashOfBody({}, body)).toBeUndefined();
});
