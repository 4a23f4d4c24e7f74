import { faultInHttpUrl, type FeedPreview } from '#contracts';
import type { FetchedResponse } from '#fetch';
import { parseJson } from '#runtime';
import { z } from 'zod';
import { lineOf } from '../document/feed-values.js';

/** Maximum bytes of a response of Apple's search API. */
const maxLookupBytes = 262_144;

const lookupSchema = z.object({
  results: z.array(
    z.object({ feedUrl: z.string().optional(), collectionName: z.string().default('') }),
  ),
});

/**
 * Returns the id in a link to a podcast in Apple Podcasts, such as
 * `https://podcasts.apple.com/us/podcast/mind-matter/id123`; undefined for any other URL.
 */
export function appleIdOf(url: string): string | undefined {
  const { hostname, pathname } = new URL(url);
  if (hostname !== 'podcasts.apple.com' && hostname !== 'itunes.apple.com') return undefined;
  return /\/id(\d{1,15})\/?$/.exec(pathname)?.[1];
}

/**
 * Returns the feed in a response of Apple's search API ("Lookup"), as the alternate of a page.
 * Podcasts that exist only in Apple Podcasts have no feed.
 *
 * @throws FetchError
 */
export async function readLookup(response: FetchedResponse): Promise<FeedPreview> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > maxLookupBytes) return { status: 'failed' };
  }
  const found = lookupSchema.safeParse(parseJson(Buffer.concat(chunks).toString()));
  if (response.status !== 200 || !found.success) return { status: 'failed' };
  const alternates = found.data.results.flatMap(({ feedUrl = '', collectionName }) =>
    faultInHttpUrl(feedUrl) === undefined
      ? [{ feed_url: feedUrl, title: lineOf(collectionName) }]
      : [],
  );
  return { status: 'not_a_feed', alternates };
}
