import { describe, expect, it } from 'vitest';
import { needsNoCredential } from './server-options.js';

describe('needsNoCredential', () => {
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
    expect([needsNoCredential('GET', path), needsNoCredential('HEAD', path)]).toEqual([true, true]),
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
  ])('returns false for everything else: %s', (path) =>
    expect(needsNoCredential('GET', path)).toBe(false),
  );

  it('returns false for writes', () => expect(needsNoCredential('POST', '/docs')).toBe(false));
});
