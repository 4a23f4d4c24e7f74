import { afterAll, beforeAll, expect, it } from 'vitest';
import { AddressGuard, Fetcher } from '#fetch';
import { FeedServer } from '../../../../libs/fetch/testing/feed-server.js';
import { fetchFeed } from './feed-fetch.js';

let server: FeedServer;
let fetcher: Fetcher;

beforeAll(async () => {
  server = await FeedServer.open();
  const guard = new AddressGuard([`127.0.0.1:${server.port}`]);
  fetcher = new Fetcher({ userAgent: 'Test', guard, limits: { decodedBytes: 100_000 } });
});
afterAll(() => server.close());

const whole = '<rss><channel><title>T</title><item><guid>1</guid></item></channel></rss>';
const hour = 3_600_000;

/** Fetches a feed that is answered with a body and headers. */
function fetchWith(body: string, headers: Record<string, string> = {}, status = 200) {
  const url = server.on('/', (_, response) => response.writeHead(status, headers).end(body));
  return fetchFeed(fetcher, { url, etag: null, lastModified: null });
}

it('returns the document with its validators', async () => {
  const date = 'Thu, 01 Jan 2026 00:00:00 GMT';
  expect(await fetchWith(whole, { etag: 'W/"1"', 'last-modified': date })).toMatchObject({
    kind: 'document',
    document: { isWhole: true, title: 'T' },
    etag: 'W/"1"',
    lastModified: date,
  });
});

it.each<[string, string, Record<string, string>]>([
  ['a cut document', whole.slice(0, -30), { etag: '"1"' }],
  ['a document that is too large', whole.replace('T', 'T'.repeat(200_000)), { etag: '"1"' }],
  ['a document that is always stale', whole, { etag: '"1"', expires: '0' }],
  ['a long validator', whole, { etag: `"${'1'.repeat(600)}"` }],
])('stores no validators of %s', async (_, body, headers) => {
  expect(await fetchWith(body, headers)).toMatchObject({
    kind: 'document',
    etag: null,
    lastModified: null,
  });
});

it.each<[string, string, Record<string, string>, number]>([
  ['max-age', whole, { 'cache-control': 'public, max-age=7200' }, 2 * hour],
  ['a past date', whole, { expires: 'Thu, 01 Jan 2015 00:00:00 GMT' }, 0],
  ['ttl', whole.replace('<item>', '<ttl>180</ttl><item>'), {}, 3 * hour],
  ['an endless ttl', whole.replace('<item>', '<ttl>1e9</ttl><item>'), {}, 24 * hour],
])('returns the time for which a document is current, by %s', async (_, body, headers, ms) => {
  expect(await fetchWith(body, headers)).toMatchObject({ freshFor: ms });
});

it('sends validators, and accepts a 304 only then', async () => {
  const url = server.on('/same', (_, response) => response.writeHead(304).end());
  const date = 'Thu, 01 Jan 2026 00:00:00 GMT';
  const conditional = { url, etag: '"1"', lastModified: date };
  expect(await fetchFeed(fetcher, conditional)).toEqual({
    kind: 'unchanged',
    redirects: [],
    freshFor: 0,
  });
  const headers = { 'if-none-match': '"1"', 'if-modified-since': date, 'user-agent': 'Test' };
  expect(server.requests.at(-1)?.headers).toMatchObject(headers);
  const first = await fetchFeed(fetcher, { url, etag: null, lastModified: null });
  expect(first).toMatchObject({ kind: 'failed', fault: 'http_304' });
});

it('returns the time until the date of Retry-After', async () => {
  const headers = { 'retry-after': new Date(Date.now() + 2 * hour).toUTCString() };
  const outcome = await fetchWith('', headers, 429);
  const retryAfter = outcome.kind === 'failed' ? (outcome.retryAfter ?? 0) : 0;
  expect(Math.abs(retryAfter - 2 * hour)).toBeLessThan(60_000);
});

it.each<[string, string, Record<string, string>, number, object]>([
  ['an error page', '<html>Error</html>', {}, 200, { fault: 'not_a_feed' }],
  ['404', '', {}, 404, { fault: 'http_404' }],
  ['429', '', { 'retry-after': '120' }, 429, { fault: 'http_429', retryAfter: 120_000 }],
  ['503 with a past date', '', { 'retry-after': 'Thu, 01 Jan 2015 00:00:00 GMT' }, 503, {}],
  ['a private address', '', { location: 'http://169.254.169.254/' }, 302, { fault: 'refused' }],
])('fails for %s', async (_, body, headers, status, failure) => {
  expect(await fetchWith(body, headers, status)).toMatchObject({ kind: 'failed', ...failure });
});
