import { createHash } from 'node:crypto';
import { derivedGuid } from './feed.url.js';

/** Returns the guid of a feed that declares none: {@link derivedGuid}. */
export function podcastGuid(feedUrl: string): string {
  return derivedGuid(feedUrl, (namespace, name) =>
    createHash('sha1').update(namespace).update(name).digest(),
  );
}
