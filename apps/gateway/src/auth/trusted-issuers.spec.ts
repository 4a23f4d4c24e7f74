import { describe, expect, it } from 'vitest';
import { trustedIssuers } from './trusted-issuers.js';

const [first, second] = ['https://id.example', 'urn:other'];

describe('trustedIssuers', () => {
  it('assigns a bare value to the first issuer', () => {
    const issuers = { AUTH_ISSUER: [first], AUTH_JWKS_URL: 'https://id.example/keys?of=us' };
    expect(trustedIssuers(issuers)).toEqual([
      { issuer: first, keys: { url: 'https://id.example/keys?of=us' } },
    ]);
  });

  it('assigns each issuer its keys: a URL, a file or discovery', () => {
    expect(
      trustedIssuers({
        AUTH_ISSUER: [first, second, 'https://third.example/'],
        AUTH_JWKS_URL: `${first}=https://keys.example`,
        AUTH_JWKS_FILE: `${second}=/keys/jwks.json`,
      }),
    ).toEqual([
      { issuer: first, keys: { url: 'https://keys.example' } },
      { issuer: second, keys: { file: '/keys/jwks.json' } },
      { issuer: 'https://third.example/', keys: 'discovery' },
    ]);
  });

  it.each([
    ['an issuer without a URL for discovery', { AUTH_ISSUER: [second] }],
    [
      'a URL and a file for one issuer',
      { AUTH_ISSUER: [first], AUTH_JWKS_URL: 'https://x.example', AUTH_JWKS_FILE: 'x' },
    ],
    ['two values for one issuer', { AUTH_ISSUER: [first], AUTH_JWKS_FILE: 'a,b' }],
    [
      'an untrusted issuer',
      { AUTH_ISSUER: [first], AUTH_JWKS_URL: 'https://x.example=https://keys.example' },
    ],
    ['an invalid URL', { AUTH_ISSUER: [first], AUTH_JWKS_URL: 'file:///keys' }],
    ['an empty value', { AUTH_ISSUER: [first], AUTH_JWKS_FILE: `${first}=` }],
  ])('rejects %s', (_, variables) => {
    expect(() => trustedIssuers(variables)).toThrow(/^AUTH_/);
  });
});
