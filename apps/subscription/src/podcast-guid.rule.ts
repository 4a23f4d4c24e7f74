import { v5 as uuidv5 } from 'uuid';

/** The namespace of podcast guids (podcast namespace, `podcast:guid`). */
const podcastNamespace = 'ead4c236-bf58-58c6-a2c6-a6b28d128cb6';

/**
 * The guid of a feed that declares none: UUIDv5 of its URL without scheme and without trailing slashes
 * (podcast namespace, `podcast:guid`).
 */
export function podcastGuid(feedUrl: string): string {
  return uuidv5(feedUrl.replace(/^[a-z][a-z\d+.-]*:\/\//i, '').replace(/\/+$/, ''), podcastNamespace);
}
