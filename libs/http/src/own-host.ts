import type { IncomingMessage } from 'node:http';
import ipaddr from 'ipaddr.js';
import type { HttpConfig } from './http.config.js';

/** Ranges of IP addresses, as named by ipaddr.js, that are not routed on the internet. */
const privateRanges: readonly string[] = [
  'loopback',
  'private',
  'linkLocal',
  'uniqueLocal',
  'carrierGradeNat',
];

/**
 * Host names that no attacker can register: those of local networks, and those without a dot. Of
 * the domain `arpa` only `home.arpa` (RFC 8375), because owners of networks get other names in it.
 */
const unregistrableName = /^[^.]+$|\.(?:local|localhost|lan|internal|home\.arpa)$/;

/**
 * Returns a function that checks the host name of a request. It accepts the name in PUBLIC_URL, the
 * configured names, and names and addresses of local networks. Any other name can belong to an
 * attacker (DNS rebinding), whose pages would then have access to this server in browsers.
 *
 * If `PUBLIC_URL` and `HOST_NAMES` are not set, the function accepts every name.
 */
export function ownHostCheck({
  PUBLIC_URL,
  HOST_NAMES = [],
}: Pick<HttpConfig, 'PUBLIC_URL' | 'HOST_NAMES'>): (hostname: string) => boolean {
  const configuredNames =
    PUBLIC_URL === undefined ? HOST_NAMES : [new URL(PUBLIC_URL).hostname, ...HOST_NAMES];
  if (configuredNames.length === 0) return () => true;
  const ownNames = new Set(configuredNames.map((name) => name.toLowerCase()));
  return (hostname) => {
    const name = hostname.toLowerCase();
    const address = name.replace(/^\[|\]$/g, '');
    if (ownNames.has(name)) return true;
    if (ipaddr.isValid(address)) return privateRanges.includes(ipaddr.process(address).range());
    return unregistrableName.test(name);
  };
}

/** Matches a valid `Host` (RFC 9110, 7.2): address in brackets or name (can be empty), and port. */
const validHost = /^(?:\[[\da-f:.]+\]|[\w.~!$&'()*+,;=%-]*)(?::\d*)?$/i;

/**
 * Returns true for a request with one valid `Host`, which HTTP/1.1 requires (RFC 9112, 3.2).
 * HTTP/1.0 needs none. Reads the raw headers, because Node drops every `Host` but the first.
 */
export function hasValidHost({
  rawHeaders,
  httpVersionMinor,
}: Pick<IncomingMessage, 'rawHeaders' | 'httpVersionMinor'>): boolean {
  let host: string | undefined;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] as string;
    if (name.length !== 4 || name.toLowerCase() !== 'host') continue;
    if (host !== undefined) return false;
    host = rawHeaders[index + 1] as string;
  }
  return host === undefined ? httpVersionMinor === 0 : validHost.test(host);
}
