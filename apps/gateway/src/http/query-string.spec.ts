import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { QueryString } from './query-string.js';

const names = ['since', 'page', 'per_page', 'cursor'];
const read = (search: string) => new QueryString(search, names);

describe('the query of a list', () => {
  it.each([
    ['?since=a', 'since', ['a']],
    ['?x=1&since=a%20b+c&y', 'since', ['a b c']],
    ['?%73ince=a', 'since', ['a']],
    ['?since', 'since', ['']],
    ['?since=%zz%ff', 'since', ['%zz\ufffd']],
    ['?since=a&since=b&since=c', 'since', ['a', 'b']],
    ['?sinc=a', 'since', []],
    ['', 'since', []],
  ])('in %s, %s has the values %j', (search, name, values) =>
    expect(read(search).getAll(name)).toEqual(values),
  );

  it('keeps other parameters of a link as they were sent', () => {
    const query = read('?a=%20+x&since=1%3A2&page=7&&b&cursor=old&a');
    expect(query.with({ page: '8', cursor: 'n&w' })).toBe(
      '?a=%20+x&b&a&since=1%3A2&page=8&cursor=n%26w',
    );
  });

  it('is parsed like any other query', () => {
    const pair = fc.tuple(
      fc.constantFrom(...names, 'x', ''),
      fc.string({ unit: 'binary', maxLength: 5 }),
    );
    fc.assert(
      fc.property(fc.array(pair, { maxLength: 6 }), (pairs) => {
        const search = `?${new URLSearchParams(pairs).toString()}`;
        const query = read(search);
        const plain = new URLSearchParams(search);
        for (const name of names)
          expect(query.getAll(name)).toEqual(plain.getAll(name).slice(0, 2));
        const linked = new URLSearchParams(query.with({ page: '2' }));
        expect(linked.getAll('page')).toEqual(['2']);
        expect(linked.getAll('x')).toEqual(plain.getAll('x'));
      }),
    );
  });

  it.each(['a', 'since=1', '%73ince', 'a=%C3%A4', '+'])(
    'has limited cost for many repetitions of %s',
    (part) => {
      const search = `?${Array.from({ length: 16_384 / (part.length + 1) }, () => part).join('&')}`;
      const start = performance.now();
      for (let times = 0; times < 100; times++) read(search).with({ page: '2', cursor: 'x' });
      const ms = (performance.now() - start) / 100;
      console.log(`16 kB of ${part}: ${ms.toFixed(2)} ms`);
      expect(ms).toBeLessThan(50);
    },
  );
});
