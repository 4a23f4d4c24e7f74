import ipaddr from 'ipaddr.js';
import type { HttpConfig } from './http.config.js';

/** Networks of which a stranger's page on the web owns no address. */
const privateRanges: readonly string[] = ['loopback', 'private', 'linkLocal', 'uniqueLocal', 'carrierGradeNat'];

/** Names that nobody can register: those of a local network, and those without a dot. */
const localName = /^[^.]+$|\.(?:local|localhost|lan|internal|home\.arpa)$/;

/**
 * Tells whether a server is meant by a host name: by that of its public URL, by a name of a local network, or by an
 * address of one. Any other name was pointed at this server by somebody else, so that their page may read what browsers
 * then take for their own site (DNS rebinding).
 *
 * Where neither is configured, every name is the server's.
 */
export function ownHost({
  PUBLIC_URL,
  HOST_NAMES = [],
}: Pick<HttpConfig, 'PUBLIC_URL' | 'HOST_NAMES'>): (hostname: string) => boolean {
  const names = PUBLIC_URL === undefined ? HOST_NAMES : [new URL(PUBLIC_URL).hostname, ...HOST_NAMES];
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
