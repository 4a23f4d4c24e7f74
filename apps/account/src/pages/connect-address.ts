const loopbackHostPattern = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/** Returns true for a URL with a loopback host, which only works on the server's machine. */
export const isLoopbackUrl = (address: string) =>
  loopbackHostPattern.test(new URL(address).hostname);

/**
 * Returns the address that a person types into an app, without a slash at the end.
 *
 * @param configured the first of `API_URLS`.
 * @param host `Host` of the request, which the HTTP server has checked. If `configured` is a
 *   loopback address and this host is not, the result is this host, for apps in the local network.
 */
export function addressForApps(configured: string, host: string | undefined): string {
  const seen = `http://${host ?? ''}`;
  const isOther = host !== undefined && URL.canParse(seen) && !isLoopbackUrl(seen);
  return (isOther && isLoopbackUrl(configured) ? new URL(seen).origin : configured).replace(
    /\/$/,
    '',
  );
}
