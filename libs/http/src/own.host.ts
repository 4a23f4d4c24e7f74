import ipaddr from 'ipaddr.js';
import type { HttpConfig } from './http.config.js';

/** Address ranges that are not routed on the internet. */
const privateRanges: readonly string[] = [
  'loopback',
  'private',
  'linkLocal',
  'uniqueLocal',
  'carrierGradeNat',
];

/** Names that cannot be registered: those of local networks, and those without a dot. */
const localName = /^[^.]+$|\.(?:local|localhost|lan|internal|home\.arpa)$/;

/**
 * Returns a predicate of the server's own host names: the public URL's, configured names, and names
 * or addresses of local networks. Others could belong to a page that attacks by DNS rebinding,
 * which browsers would then treat as this site.
 *
 * If neither variable is set, the predicate accepts every name.
 */
export function ownHost({
  PUBLIC_URL,
  HOST_NAMES = [],
}: Pick<HttpConfig, 'PUBLIC_URL' | 'HOST_NAMES'>): (hostname: string) => boolean {
  const names =
    PUBLIC_URL === undefined ? HOST_NAMES : [new URL(PUBLIC_URL).hostname, ...HOST_NAMES];
  if (names.length === 0) return () => true;
  const own = new Set(names.map((name) => name.toLowerCase()));
  return (hostname) => {
    const name = hostname.toLowerCase();
    const address = name.replace(/^\[|\]$/g, '');
    if (own.has(name)) return true;
    if (ipaddr.isValid(address)) return privateRanges.includes(ipaddr.process(address).range());
    return localName.test(name);
  };
}
