import { hash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import {
  clockInIfNoneMatch,
  type ListIdentity,
  listETag,
  pageETag,
  versionsInIfNoneMatch,
} from './etag.js';

const clock = '2026-02-02T12:00:00.123Z';
const identity: ListIdentity = {
  userId: 'u',
  url: 'https://sync.example/episodes?page=2',
  parameters: [undefined, 2, 50],
};
const tag = listETag(clock, identity);

describe('listETag', () => {
  it('is weak', () => {
    expect(tag).toMatch(/^W\/"[\w-]+"$/);
  });

  it('changes with any write of the user', () => {
    expect(listETag('2026-02-02T12:00:00.124Z', identity)).not.toBe(tag);
  });

  it.each([
    ['the user', { userId: 'v' }],
    ['the base of the links', { url: 'https://other.example/episodes?page=2' }],
    ['the URL', { url: 'https://sync.example/episodes?page=2&x' }],
    ['the valid parameters', { parameters: [undefined, 2, 20] }],
  ])('changes with %s', (_, other) => {
    expect(listETag(clock, { ...identity, ...other })).not.toBe(tag);
  });

  it('includes the version of the representation, which a release can raise', () => {
    const version = 1;
    const parts = JSON.stringify([version, identity.userId, identity.url, identity.parameters]);
    expect(tag).toBe(
      `W/"${Date.parse(clock).toString(36)}-${hash('sha256', parts, 'base64url').slice(0, 22)}"`,
    );
  });
});

describe('clockInIfNoneMatch', () => {
  it.each([tag, tag.replace('W/', ''), `"other", ${tag}`, `${tag} , W/"x"`])(
    'returns the clock in a matching ETag: %s',
    (sent) => {
      expect(clockInIfNoneMatch(sent, identity)).toBe(clock);
    },
  );

  it('returns the latest clock of several ETags in any order', () => {
    const older = listETag('2026-02-02T12:00:00.122Z', identity);
    for (const sent of [`${older}, ${tag}`, `${tag}, ${older}`])
      expect(clockInIfNoneMatch(sent, identity)).toBe(clock);
  });

  it('returns the clock of a user who never wrote', () => {
    const epoch = '1970-01-01T00:00:00.000Z';
    expect(clockInIfNoneMatch(listETag(epoch, identity), identity)).toBe(epoch);
  });

  it.each([
    undefined,
    '',
    '*',
    'W/"x-y"',
    tag.slice(0, -2),
    tag.replaceAll('"', ''),
    pageETag('z'.repeat(24), identity),
  ])('returns undefined for %s', (sent) => {
    expect(clockInIfNoneMatch(sent, identity)).toBeUndefined();
  });

  it('returns undefined for the ETag of another list', () => {
    expect(
      clockInIfNoneMatch(
        listETag(clock, { ...identity, url: 'https://sync.example/episodes' }),
        identity,
      ),
    ).toBeUndefined();
  });
});

describe('versionsInIfNoneMatch', () => {
  it('returns the versions of all ETags of the page, weak or not', () => {
    const [one, two] = [pageETag('1f', identity), pageETag('2f', identity).replace('W/', '')];
    const other = pageETag('3f', { ...identity, userId: 'v' });
    expect(versionsInIfNoneMatch(`${one}, ${other}, ${two}`, identity)).toEqual(['1f', '2f']);
    for (const sent of [undefined, '*', other])
      expect(versionsInIfNoneMatch(sent, identity)).toEqual([]);
  });
});
