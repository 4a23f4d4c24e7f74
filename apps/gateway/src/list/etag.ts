import { hash } from 'node:crypto';

/** Version of the JSON of lists. Increase it in every release that changes the JSON. */
const representation = 1;

/** All values that an answer of a list depends on, except the user's data. */
export interface ListIdentity {
  userId: string;
  /** The whole URL, with the base of its links. */
  url: string;
  /** The parameters after invalid values are ignored and `per_page` is clamped. */
  effective: unknown;
}

/**
 * Returns the weak ETag of a page (RFC 9110, 8.8.3): the version of the data, and a hash of all
 * other inputs. See docs/reference/interface.md, "Polling".
 *
 * @param version letters and digits, at most 32.
 */
export function pageETag(version: string, identity: ListIdentity): string {
  return `W/"${version}-${hashOf(identity)}"`;
}

/** Returns the versions in the ETags of this page in `If-None-Match` (RFC 9110, 13.1.2). */
export function versionsInIfNoneMatch(
  ifNoneMatch: string | undefined,
  identity: ListIdentity,
): string[] {
  if (ifNoneMatch === undefined) return [];
  const expected = hashOf(identity);
  return [...ifNoneMatch.matchAll(/"([\da-z]{1,32})-([\w-]+)"/g)]
    .filter(([, , print]) => print === expected)
    .map(([, version]) => version as string);
}

/** Returns the weak ETag of a list, whose version is the user's clock. */
export function listETag(clock: string, identity: ListIdentity): string {
  return pageETag(Date.parse(clock).toString(36), identity);
}

/**
 * Returns the user's clock in an ETag of this list in `If-None-Match`; `undefined` without such an
 * ETag. Of several clocks it returns the latest, because only that one can be current.
 */
export function clockInIfNoneMatch(
  ifNoneMatch: string | undefined,
  identity: ListIdentity,
): string | undefined {
  const clocks = versionsInIfNoneMatch(ifNoneMatch, identity)
    .filter((version) => version.length <= 9)
    .map((version) => Number.parseInt(version, 36));
  return clocks.length === 0 ? undefined : new Date(Math.max(...clocks)).toISOString();
}

function hashOf({ userId, url, effective }: ListIdentity): string {
  return hash(
    'sha256',
    JSON.stringify([representation, userId, url, effective]),
    'base64url',
  ).slice(0, 22);
}
