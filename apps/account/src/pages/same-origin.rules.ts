import type { IncomingHttpHeaders } from 'node:http';

/**
 * Returns true if a page of this site sent the form, or a client without a browser's headers.
 * Browsers send `Sec-Fetch-Site`; without TLS they omit it, and `Origin` must match.
 *
 * @param origin public origin. The host of the request also matches, as other sites cannot set it.
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
