import type { IncomingHttpHeaders } from 'node:http';

/**
 * Whether a form was sent by a page of ours, or by no browser at all (which sends no cookies of anybody, either). Browsers
 * say so in `Sec-Fetch-Site`; where the server is reached without TLS they leave it out, and `Origin` has to be ours.
 *
 * @param origin the public origin. The host by which the browser reaches us counts, too: no other site can choose that.
 */
export function isOwnForm(headers: IncomingHttpHeaders, origin: string): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin' || site === 'none';
  if (headers.origin === undefined) return true;
  return headers.origin === origin || [`http://${headers.host}`, `https://${headers.host}`].includes(headers.origin);
}
