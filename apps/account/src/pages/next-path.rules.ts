const maxPathLength = 2_000;

/**
 * Returns the path of this site that opens after a sign-in; undefined above 2,000 characters and
 * for any value that a browser could interpret as another site.
 *
 * @param requested `next` of a link or form, which an attacker can choose.
 */
export function nextPath(requested: string | undefined): string | undefined {
  if (
    requested === undefined ||
    requested.length > maxPathLength ||
    !/^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/.test(requested)
  )
    return undefined;
  const ownOrigin = 'http://ours.invalid';
  if (!URL.canParse(requested, ownOrigin)) return undefined;
  const url = new URL(requested, ownOrigin);
  if (url.origin !== ownOrigin || url.pathname.startsWith('//')) return undefined;
  return url.pathname + url.search;
}

/** Returns `path` with the query field `next`; only `path` if `next` is undefined. */
export function withNext(path: string, next: string | undefined): string {
  return next === undefined ? path : `${path}?${new URLSearchParams({ next }).toString()}`;
}
