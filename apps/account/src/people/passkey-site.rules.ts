import { isIP } from 'node:net';

/** Site whose passkeys a browser offers (relying party of WebAuthn). */
export interface PasskeySite {
  /** Host name, to which browsers bind passkeys. */
  readonly id: string;
  /** Origin of the pages, which responses must name. */
  readonly origin: string;
}

/**
 * Returns the site of a request's passkeys: that of the public URL, else `localhost` if the request
 * was sent to it. Undefined if browsers offer no passkeys on either: they require HTTPS with a
 * domain name, or `localhost`.
 *
 * @param host header `Host` of the request.
 */
export function passkeySite(publicUrl: string, host = ''): PasskeySite | undefined {
  return (
    siteOf(publicUrl) ?? (/^localhost(:\d+)?$/.test(host) ? siteOf(`http://${host}`) : undefined)
  );
}

function siteOf(url: string): PasskeySite | undefined {
  const { hostname, origin, protocol } = new URL(url);
  const isAddress = isIP(hostname.replaceAll(/[[\]]/g, '')) !== 0;
  const isSecure = protocol === 'https:' || /(^|\.)localhost$/.test(hostname);
  return isSecure && !isAddress ? { id: hostname, origin } : undefined;
}
