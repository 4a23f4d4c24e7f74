import { faultInHttpUrl, type FeedPreview } from '#contracts';
import type { FetchedResponse } from '#fetch';
import { parseJson } from '#runtime';
import { z } from 'zod';
import { lineOf } from '../document/feed-values.js';

/** Maximum bytes of a response of Apple's lookup API. A longer response counts as failed. */
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
 * Returns the feeds in a response of Apple's lookup API as `alternates`, as for an HTML page that
 * links to a feed. The list is empty for podcasts that exist only in Apple Podcasts.
 *
 * @throws FetchError
 */
export async function readLookup(response: FetchedResponse): Promise<FeedPreview> {
  const chunks: Uint8Array[] = [];
  let receivedBytes = 0;
  for await (const chunk of response.body) {
    chunks.push(chunk);
    receivedBytes += chunk.length;
    if (receivedBytes > maxLookupBytes) return { status: 'failed' };
  }
  const lookup = lookupSchema.safeParse(parseJson(Buffer.concat(chunks).toString()));
  if (response.status !== 200 || !lookup.success) return { status: 'failed' };
  const alternates = lookup.data.results.flatMap(({ feedUrl = '', collectionName }) =>
    faultInHttpUrl(feedUrl) === undefined
      ? [{ feed_url: feedUrl, title: lineOf(collectionName) }]
      : [],
  );
  return { status: 'not_a_feed', alternates };
}
