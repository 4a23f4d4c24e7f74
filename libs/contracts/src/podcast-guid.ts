import { createHash } from 'node:crypto';

/** The namespace of podcast guids (podcast namespace, `podcast:guid`), `ead4c236-bf58-58c6-a2c6-a6b28d128cb6`. */
const podcastNamespace = Buffer.from('ead4c236bf5858c6a2c6a6b28d128cb6', 'hex');

/**
 * The guid of a feed that declares none: UUIDv5 of its URL without scheme and trailing slashes (podcast namespace,
 * `podcast:guid`; docs/interface.md, "Guids"). The package `uuid` would take ten times as long for a long URL.
 */
export function podcastGuid(feedUrl: string): string {
  const name = withoutTrailingSlashes(feedUrl.replace(/^[a-z][a-z\d+.-]*:\/\//i, ''));
  const bytes = createHash('sha1').update(podcastNamespace).update(name).digest().subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x50, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = bytes.toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

/** Not by a regular expression: /\/+$/ takes quadratic time in the number of slashes. */
function withoutTrailingSlashes(text: string): string {
  let end = text.length;
  while (text[end - 1] === '/') end -= 1;
  return text.slice(0, end);
}
