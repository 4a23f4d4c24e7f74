import { isIP } from 'node:net';

/** Site whose passkeys a browser offers (relying party of WebAuthn). */
export interface PasskeySite {
  /** Host name, to which browsers bind passkeys. */
  readonly id: string;
  /** Origin of the pages, which responses must name. */
  readonly origin: string;
}

/**
 * Returns the site of a request's passkeys: the public URL, or else `localhost` if the request was
 * sent to `localhost`. Returns undefined if browsers offer passkeys on neither. Browsers require
 * HTTPS with a domain name, or `localhost`.
 *
 * @param host header `Host` of the request.
 */
export function passkeySite(publicUrl: string, host = ''): PasskeySite | undefined {
  return (
    toPasskeySite(publicUrl) ??
    (/^localhost(:\d+)?$/.test(host) ? toPasskeySite(`http://${host}`) : undefined)
  );
}

function toPasskeySite(url: string): PasskeySite | undefined {
  const { hostname, origin, protocol } = new URL(url);
  const isIpAddress = isIP(hostname.replaceAll(/[[\]]/g, '')) !== 0;
  const isSecure = protocol === 'https:' || /(^|\.)localhost$/.test(hostname);
  return isSecure && !isIpAddress ? { id: hostname, origin } : undefined;
}
