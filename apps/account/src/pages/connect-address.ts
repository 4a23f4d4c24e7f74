const loopbackHostPattern = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/** Returns true if the host of a URL is a loopback host. Other devices cannot reach such a URL. */
export const isLoopbackUrl = (address: string) =>
  loopbackHostPattern.test(new URL(address).hostname);

/**
 * Returns the address that a person types into an app, without a slash at the end.
 *
 * @param configured first URL of `API_URLS`.
 * @param host header `Host` of the request, which the HTTP server has checked. If `configured` has
 *   a loopback host and `host` is none, the result is `http://` and `host`: apps in the local
 *   network can reach it.
 */
export function addressForApps(configured: string, host: string | undefined): string {
  const requestUrl = `http://${host ?? ''}`;
  const isNetworkHost =
    host !== undefined && URL.canParse(requestUrl) && !isLoopbackUrl(requestUrl);
  return (
    isNetworkHost && isLoopbackUrl(configured) ? new URL(requestUrl).origin : configured
  ).replace(/\/$/, '');
}
