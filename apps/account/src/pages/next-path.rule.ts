/** Where sign-in leads on to at most. */
const maxLength = 2_000;

/**
 * The path of ours that somebody is led on to, from what a link or a form says: `undefined` for everything that a browser
 * could take for another site.
 */
export function nextPath(claimed: string | undefined): string | undefined {
  if (claimed === undefined || claimed.length > maxLength || !/^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/.test(claimed))
    return undefined;
  const base = 'http://ours.invalid';
  if (!URL.canParse(claimed, base)) return undefined;
  const url = new URL(claimed, base);
  if (url.origin !== base || url.pathname.startsWith('//')) return undefined;
  return url.pathname + url.search;
}
