import fc from 'fast-check';
import { v5 as uuidv5 } from 'uuid';
import { describe, expect, it } from 'vitest';
import { normalizedUrl } from '../../contracts/src/feed-url.js';
import { podcastGuid as guidOfServer } from '../../contracts/src/feed-hashes.js';
import { differentUrls, equalUrls } from '../../contracts/testing/url-vectors.js';
import { podcastGuid as guidOfSdk } from './podcast-guid.js';

/** Namespace of podcast guids. */
const namespace = 'ead4c236-bf58-58c6-a2c6-a6b28d128cb6';

// Server and SDK share the rules of libs/contracts/src/feed-url.ts, and hash separately.
describe.each([
  ['the server', guidOfServer],
  ['the SDK', guidOfSdk],
])('podcastGuid of %s', (_name, podcastGuid) => {
  it.each([
    ['https://podnews.net/rss', '9b024349-ccf0-5f69-a609-6b82873eab3c'],
    ['https://mp3s.nashownotes.com/pc20rss.xml', '917393e3-1b1e-5cef-ace4-edaa54e1f810'],
    ['http://example.com:8080/', 'd228e652-28a7-59fb-beb8-c6bf5c833c85'],
    ['https://exämple.org/ä', uuidv5('xn--exmple-cua.org/%C3%A4', namespace)],
  ])('returns the UUIDv5 of the URL in the namespace of podcast guids: %s', (url, guid) => {
    expect(podcastGuid(url)).toBe(guid);
  });

  it.each([
    'http://podnews.net/rss',
    'HTTPS://podnews.net/rss',
    'https://podnews.net/rss/',
    'https://podnews.net/rss//',
    '\ufeff  https://podnews.net/rss/\u00a0\r\n',
  ])('ignores scheme, trailing slashes and surrounding white space: %j', (url) =>
    expect(podcastGuid(url)).toBe('9b024349-ccf0-5f69-a609-6b82873eab3c'),
  );

  it.each(equalUrls)('returns one guid for %s and %s', (one, other) => {
    expect(podcastGuid(one)).toBe(podcastGuid(other));
  });

  it.each(differentUrls)('returns different guids for %s and %s', (one, other) => {
    expect(podcastGuid(one)).not.toBe(podcastGuid(other));
  });

  it.each(['x', ''])('takes linear time: a million slashes and %j', (end) => {
    const started = performance.now();
    podcastGuid(`https://a.example${'/'.repeat(1_000_000)}${end}`);
    // Linear work takes less than a second, quadratic work more than 10 minutes.
    expect(performance.now() - started).toBeLessThan(60_000);
  });

  it('equals the UUIDv5 of the package uuid, for any URL', () => {
    fc.assert(
      fc.property(fc.webPath(), fc.string({ unit: 'grapheme' }), (path, text) => {
        const url = `https://podcast.example/${path}${text}x`;
        const name = normalizedUrl(url).slice('https://'.length);
        expect(podcastGuid(url)).toBe(uuidv5(name, namespace));
      }),
    );
  });

  it('ignores exactly one scheme and all trailing slashes of any URL', () => {
    const rest = fc.webUrl().map((url) => url.replace(/^\w+:\/\//, '').replace(/\/+$/, ''));
    fc.assert(
      fc.property(
        rest,
        fc.constantFrom('http', 'https', 'HTTP'),
        fc.nat(3),
        (name, scheme, slashes) => {
          expect(podcastGuid(`${scheme}://${name}${'/'.repeat(slashes)}`)).toBe(
            podcastGuid(`https://${name}`),
          );
        },
      ),
    );
  });
});
