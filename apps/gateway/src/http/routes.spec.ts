import { describe, expect, it } from 'vitest';
import { isOpen, methodsOf } from './routes.js';

describe('isOpen', () => {
  it.each(['/', '/openapi.json', '/docs', '/docs/', '/docs/swagger-ui.css', '/.well-known/jwks.json'])(
    'serves without a credential: %s',
    (path) => expect([isOpen('GET', path), isOpen('HEAD', path)]).toEqual([true, true]),
  );

  it.each(['', '/subscriptions', '/v1/episodes', '/docsx', '/openapi.json/x', '/x/docs', '/.well-known/x', '//docs'])(
    'asks for a credential on everything else: %s',
    (path) => expect(isOpen('GET', path)).toBe(false),
  );

  it('asks for one when something is to be written', () => expect(isOpen('POST', '/docs')).toBe(false));
});

describe('methodsOf', () => {
  it('lets what is open be read only', () => expect(methodsOf('/openapi.json')).toEqual(['GET', 'HEAD']));

  it.each([
    ['/subscriptions', ['GET', 'HEAD', 'POST']],
    ['/changes', ['GET', 'HEAD']],
    ['/subscriptions/x', ['GET', 'HEAD', 'PATCH', 'DELETE']],
    ['/subscriptions.opml', ['GET', 'HEAD']],
    ['/subscriptions/opml', ['POST']],
    ['/deletions/1', ['GET', 'HEAD']],
    ['/episodes', ['GET', 'HEAD', 'POST']],
  ])('knows the methods of each path, also below /v1/: %s', (path, methods) => {
    expect(methodsOf(path)).toEqual(methods);
    expect(methodsOf(`/v1${path}`)).toEqual(methods);
  });

  it.each([
    '/v1',
    '/v1/',
    '/v2/episodes',
    '/subscriptions/',
    '/subscriptions/a/b',
    '/deletions',
    '/episodes/x',
    '/v1/v1/episodes',
  ])('knows no other path: %s', (path) => expect(methodsOf(path)).toBeUndefined());
});
