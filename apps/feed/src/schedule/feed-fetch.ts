import { FetchError, type FetchedResponse, type Fetcher, type Redirect } from '#fetch';
import { parsingSlot } from '#runtime';
import type { FeedDocument } from '../document/feed-document.js';
import { FeedReader } from '../document/feed-reader.js';

const dayMs = 86_400_000;

/** A feed to fetch, with the validators of its last document (RFC 9110, 8.8). */
export interface FeedRequest {
  readonly url: string;
  readonly etag: string | null;
  readonly lastModified: string | null;
}

/** The outcome of a fetch. Durations are milliseconds. */
export type Outcome =
  | {
      readonly kind: 'document';
      readonly document: FeedDocument;
      readonly redirects: readonly Redirect[];
      readonly etag: string | null;
      readonly lastModified: string | null;
      /** Time for which the document is fresh, by the caching headers or the `ttl` of the feed. */
      readonly freshFor: number;
    }
  | {
      /** The response was 304. */
      readonly kind: 'unchanged';
      readonly redirects: readonly Redirect[];
      readonly freshFor: number;
    }
  | {
      readonly kind: 'failed';
      /** The cause, such as `http_404`, `not_a_feed` or a FetchFault. Also a label of metrics. */
      readonly fault: string;
      /** The duration of `Retry-After`; undefined without a valid header. */
      readonly retryAfter?: number | undefined;
    };

/**
 * Fetches a feed. Returns the part that was read of a document that breaks off or is too large.
 *
 * @param stopped aborts the fetch, which then throws the signal's reason.
 */
export async function fetchFeed(
  fetcher: Fetcher,
  { url, etag, lastModified }: FeedRequest,
  stopped?: AbortSignal,
): Promise<Outcome> {
  const headers = {
    accept: 'application/rss+xml, application/atom+xml, application/xml, text/xml, */*;q=0.5',
    ...(etag !== null && { 'if-none-match': etag }),
    ...(lastModified !== null && { 'if-modified-since': lastModified }),
  };
  const isConditional = etag !== null || lastModified !== null;
  try {
    return await fetcher.fetch(
      { url, headers },
      (response) => toOutcome(response, isConditional),
      stopped,
    );
  } catch (error) {
    if (!(error instanceof FetchError)) throw error;
    return { kind: 'failed', fault: error.fault };
  }
}

async function toOutcome(response: FetchedResponse, isConditional: boolean): Promise<Outcome> {
  const { status, redirects } = response;
  const freshFor = readFreshnessMs(response);
  if (status === 304 && isConditional) return { kind: 'unchanged', redirects, freshFor };
  if (status !== 200)
    return { kind: 'failed', fault: `http_${status}`, retryAfter: readRetryAfterMs(response) };
  const document = await readFeed(response);
  if (!document) return { kind: 'failed', fault: 'not_a_feed' };
  // Unreliable validators are not stored. With the validators of a partly read document, servers
  // would answer 304, and the rest would never be read. Servers with `Expires: 0` often send
  // validators that never change.
  const isReliable = document.isWhole && response.header('expires') !== '0';
  return {
    kind: 'document',
    document,
    redirects,
    etag: isReliable ? readValidator(response, 'etag') : null,
    lastModified: isReliable ? readValidator(response, 'last-modified') : null,
    freshFor: Math.max(freshFor, Math.min((document.ttl ?? 0) * 60_000, dayMs)),
  };
}

async function readFeed(response: FetchedResponse): Promise<FeedDocument | undefined> {
  const reader = new FeedReader(response.header('content-type'));
  let isWholeBody = true;
  try {
    for await (const chunk of response.body) {
      await parsingSlot();
      if (!reader.write(chunk)) break;
    }
  } catch (error) {
    if (!(error instanceof FetchError)) throw error;
    isWholeBody = false;
  }
  await parsingSlot();
  return reader.end(isWholeBody);
}

/** Returns a header that later requests can send as a validator; null if absent or unusable. */
function readValidator(response: FetchedResponse, name: string): string | null {
  const value = response.header(name) ?? '';
  return value !== '' && value.length <= 512 && /^[\x20-\x7e]+$/.test(value) ? value : null;
}

/** Returns the freshness lifetime of a response in ms (RFC 9111, 4.2.1); 0 if not declared. */
function readFreshnessMs(response: FetchedResponse): number {
  const seconds = /(?:^|[\s,])max-age=(\d{1,9})/i.exec(response.header('cache-control') ?? '')?.[1];
  if (seconds !== undefined) return Number(seconds) * 1_000;
  const untilExpiryMs = Date.parse(response.header('expires') ?? '') - Date.now();
  return untilExpiryMs > 0 ? untilExpiryMs : 0;
}

/**
 * Returns the duration of `Retry-After` in milliseconds. The header has seconds or a date (RFC
 * 9110, 10.2.3). Returns `undefined` for a past date, and without a valid header.
 */
function readRetryAfterMs(response: FetchedResponse): number | undefined {
  const value = response.header('retry-after') ?? '';
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1_000;
  const untilTimeMs = Date.parse(value) - Date.now();
  return untilTimeMs > 0 ? untilTimeMs : undefined;
}
