const maxPathLength = 2_000;

/**
 * Returns the path of this site that opens after a sign-in, from a link or form. Undefined for any
 * value that a browser could interpret as another site.
 */
export function nextPath(requested: string | undefined): string | undefined {
  if (
    requested === undefined ||
    requested.length > maxPathLength ||
    !/^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/.test(requested)
  )
    return undefined;
  const base = 'http://ours.invalid';
  if (!URL.canParse(requested, base)) return undefined;
  const url = new URL(requested, base);
  if (url.origin !== base || url.pathname.startsWith('//')) return undefined;
  return url.pathname + url.search;
}

/** Returns a path with `next` in its query, if it is defined. */
export function withNext(path: string, next: string | undefined): string {
  return next === undefined ? path : `${path}?${new URLSearchParams({ next }).toString()}`;
}
