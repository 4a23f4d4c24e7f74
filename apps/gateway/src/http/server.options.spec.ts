import { describe, expect, it } from 'vitest';
import { isOpen } from './server.options.js';

describe('isOpen', () => {
  it.each([
    '/',
    '/openapi.json',
    '/docs',
    '/docs/',
    '/docs/swagger-ui.css',
    '/.well-known/jwks.json',
    '/capabilities',
    '/v1/capabilities',
    '/feeds/artwork/a',
    '/v1/feeds/artwork/a',
  ])('returns true without a credential for %s', (path) =>
    expect([isOpen('GET', path), isOpen('HEAD', path)]).toEqual([true, true]),
  );

  it.each([
    '',
    '/subscriptions',
    '/v1/episodes',
    '/docsx',
    '/openapi.json/x',
    '/x/docs',
    '/feeds',
    '/feeds/artwork/',
    '/feeds/artwork/a/b',
    '/.well-known/x',
    '//docs',
  ])('returns false for everything else: %s', (path) => expect(isOpen('GET', path)).toBe(false));

  it('returns false for writes', () => expect(isOpen('POST', '/docs')).toBe(false));
});
