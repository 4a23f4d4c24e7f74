import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { nextPath } from './next-path.rules.js';

it.each(['/', '/device?user_code=ABCD-EFGH', '/interaction/abc_DEF-1'])(
  '%s is accepted',
  (path) => {
    expect(nextPath(path)).toBe(path);
  },
);

it.each([
  undefined,
  '',
  'device',
  '//evil.example',
  '/\\evil.example',
  '/.//evil.example',
  '/%2e//evil.example',
  '/a/..//evil.example',
  '/\t/evil.example',
  'https://evil.example/',
  'javascript:alert(1)',
  '/a\r\nset-cookie: b',
  `/${'a'.repeat(2_000)}`,
])('%j leads nowhere', (path) => {
  expect(nextPath(path)).toBeUndefined();
});

it('never returns another site', () => {
  const pieces = fc.constantFrom(
    ...'/ . .. %2e %2f @ : evil.example ? # http:'.split(' '),
    '\\',
    '\t',
    ' ',
  );
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 8 }), (parts) => {
      const path = nextPath(`/${parts.join('')}`);
      expect(new URL(path ?? '/', 'http://ours.example').origin).toBe('http://ours.example');
    }),
  );
});
