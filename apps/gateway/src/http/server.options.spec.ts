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
  ])('serves without a credential: %s', (path) =>
    expect([isOpen('GET', path), isOpen('HEAD', path)]).toEqual([true, true]),
  );

  it.each([
    '',
    '/subscriptions',
    '/v1/episodes',
    '/docsx',
    '/openapi.json/x',
    '/x/docs',
    '/.well-known/x',
    '//docs',
  ])('asks for a credential on everything else: %s', (path) =>
    expect(isOpen('GET', path)).toBe(false),
  );

  it('asks for one when something is to be written', () =>
    expect(isOpen('POST', '/docs')).toBe(false));
});
