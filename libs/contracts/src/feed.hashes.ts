import { createHash, hash } from 'node:crypto';
import { comparableUrl, derivedGuid } from './feed.url.js';

/** Returns the {@link derivedGuid} of a feed URL, for a feed whose document has no guid. */
export function podcastGuid(feedUrl: string): string {
  return derivedGuid(feedUrl, (namespace, name) =>
    createHash('sha1').update(namespace).update(name).digest(),
  );
}

/**
 * Returns the lookup key of a feed URL: the SHA-256 of {@link comparableUrl} in hexadecimal. An
 * index entry of Postgres cannot hold a long URL.
 */
export function urlKey(feedUrl: string): string {
  return hash('sha256', comparableUrl(feedUrl), 'hex');
}
