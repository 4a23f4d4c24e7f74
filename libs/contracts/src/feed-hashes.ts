import { createHash, hash } from 'node:crypto';
import { comparableUrl, derivedGuid } from './feed-url.js';

/** Returns the derived guid of a feed URL ({@link derivedGuid}), with the SHA-1 of Node. */
export function podcastGuid(feedUrl: string): string {
  return derivedGuid(feedUrl, (namespace, name) =>
    createHash('sha1').update(namespace).update(name).digest(),
  );
}

/**
 * Returns the lookup key of a feed URL: the SHA-256 of {@link comparableUrl} in hex. Indexes use
 * the key, because an index entry of Postgres cannot contain a long URL.
 */
export function urlKey(feedUrl: string): string {
  return hash('sha256', comparableUrl(feedUrl), 'hex');
}
