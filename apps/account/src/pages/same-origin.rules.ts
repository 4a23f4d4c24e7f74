import type { IncomingHttpHeaders } from 'node:http';

/**
 * Returns true if a page of this site sent the form, or a client that is no browser. Browsers send
 * `Sec-Fetch-Site` (Fetch Metadata). Without TLS they send only `Origin`, which must match.
 *
 * @param origin public origin of this site. The header `Host` also matches, because other sites
 *   cannot set it.
 */
export function isSameOriginForm(headers: IncomingHttpHeaders, origin: string): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin' || site === 'none';
  if (headers.origin === undefined) return true;
  return (
    headers.origin === origin ||
    [`http://${headers.host}`, `https://${headers.host}`].includes(headers.origin)
  );
}
