import { describe, expect, it } from 'vitest';
import type { FeedDocument } from '../document/feed-document.js';
import type { Outcome } from './feed-fetch.js';
import { areSameFeeds, candidateOf, comparableOf, type Move, nextMove } from './move.rules.js';

const [a, b, c] = ['https://a.example/f', 'https://b.example/f', 'https://c.example/f'] as const;
const document = (fields: Partial<FeedDocument> = {}): FeedDocument => ({
  isWhole: true,
  isBlocked: false,
  isComplete: false,
  items: [],
  ...fields,
});
const answer = (
  redirects: readonly (readonly [number, string])[],
  fields: Partial<FeedDocument> = {},
): Outcome => ({
  kind: 'document',
  document: document(fields),
  redirects: redirects.map(([status, url]) => ({ status, url })),
  etag: null,
  lastModified: null,
  freshFor: 0,
});

describe('a candidate for a new URL', () => {
  it.each<[string, string, Outcome, string | undefined]>([
    ['no redirect', a, answer([]), undefined],
    ['301', a, answer([[301, b]]), b],
    ['308', a, answer([[308, b]]), b],
    ['302', a, answer([[302, b]]), undefined],
    [
      'a chain of 301',
      a,
      answer([
        [301, b],
        [301, c],
      ]),
      c,
    ],
    [
      'the part before a 302',
      a,
      answer([
        [301, b],
        [302, c],
      ]),
      b,
    ],
    ['302 to https of the same path', 'http://a.example/f', answer([[302, a]]), a],
    ['302 to https of another path', 'http://a.example/g', answer([[302, a]]), undefined],
    ['itunes:new-feed-url', a, answer([], { newFeedUrl: b }), b],
    ['its own URL in itunes:new-feed-url', a, answer([], { newFeedUrl: a }), undefined],
    ['a new URL that names the old one', a, answer([[301, b]], { newFeedUrl: a }), undefined],
    [
      'an unchanged document',
      a,
      { kind: 'unchanged', redirects: [{ status: 301, url: b }], freshFor: 0 },
      b,
    ],
    ['a failure', a, { kind: 'failed', fault: 'http_404' }, undefined],
  ])('%s', (_, url, outcome, candidate) => {
    expect(candidateOf(url, outcome)).toBe(candidate);
  });

  it.each<[string, string, string]>([
    ['from https to http', a, 'http://b.example/f'],
    ['to an address', a, 'https://192.0.2.1/f'],
    ['to an IPv6 address', a, 'https://[2001:db8::1]/f'],
    ['from an address', 'https://192.0.2.1/f', b],
    ['to a private feed', a, 'https://b.example/f?token=0123456789abcdef'],
    ['to credentials', a, 'https://ann:secret@b.example/f'],
    ['from a private feed', 'https://a.example/f?token=0123456789abcdef', b],
    ['to a long URL', a, `https://b.example/${'x'.repeat(4_096)}`],
  ])('is never %s', (_, from, to) => {
    expect(candidateOf(from, answer([[301, to]]))).toBeUndefined();
  });
});

describe('a move', () => {
  const dayMs = 86_400_000;
  const at = (days: number, more: object = {}) => ({
    now: days * dayMs,
    isWhole: true,
    isSame: () => false,
    ...more,
  });
  const sight = (days: readonly number[], candidates: readonly string[] = []) =>
    days.reduce<Move | null>(
      (move, time, index) => nextMove(move, candidates[index] ?? b, at(time)),
      null,
    );

  it('is proven immediately by the same feed', () => {
    expect(nextMove(null, b, at(0, { isSame: () => true }))).toMatchObject({ isProven: true });
  });

  it('is proven by three sightings in seven days', () => {
    expect(sight([0, 7])).toMatchObject({ isProven: false, seen: 2 });
    expect(sight([0, 1, 6])).toMatchObject({ isProven: false, seen: 3 });
    expect(sight([0, 1, 7])).toMatchObject({ isProven: true });
  });

  it('starts again with another candidate', () => {
    expect(sight([0, 3, 8], [b, c, b])).toMatchObject({ seen: 1, since: 8 * dayMs });
  });

  it('is not proven by a document that is not whole, and stays proven', () => {
    const cut = at(0, { isWhole: false, isSame: () => true });
    expect(nextMove(null, b, cut)).toMatchObject({ isProven: false });
    const proven = { to: b, seen: 1, since: 0, isProven: true };
    expect(nextMove(proven, b, cut)).toMatchObject({ isProven: true, seen: 2 });
  });
});

describe('two feeds', () => {
  const feed = (url: string, guids: string[], declaredGuid?: string) => ({
    url,
    guids,
    declaredGuid,
  });
  const many = Array.from({ length: 30 }, (_, n) => `${n}`);

  it.each([
    ['equal but for scheme and slash', feed('http://a.example/f/', []), feed(a, []), true],
    ['with one declared guid', feed(a, [], 'x'), feed(b, [], 'x'), true],
    ['with two declared guids', feed(a, [], 'x'), feed(b, [], 'y'), false],
    ['without anything', feed(a, []), feed(b, []), false],
    ['with three equal episodes', feed(a, ['1', '2', '3']), feed(b, ['3', '2', '1']), true],
    ['with two equal episodes', feed(a, ['1', '2']), feed(b, ['1', '2']), false],
    ['with half of the newest 20', feed(a, many), feed(b, many.slice(10)), true],
    ['with less than half of them', feed(a, many), feed(b, many.slice(11)), false],
  ])('%s', (_, from, to, isSame) => {
    expect(areSameFeeds(from, to)).toBe(isSame);
  });

  it('are compared by their newest episodes', () => {
    const items = [
      { guid: 'old', publishDate: new Date(0) },
      { guid: 'new', publishDate: new Date(1) },
      { enclosureUrl: 'https://a.example/1' },
    ];
    expect(comparableOf(document({ items, declaredGuid: 'x' }))).toEqual({
      guids: ['new', 'old'],
      declaredGuid: 'x',
    });
  });
});
