import { hash } from 'node:crypto';

/** Version of the JSON of lists. Increase it in every release that changes the JSON. */
const jsonVersion = 1;

/** Everything that determines the answer of a list, except the user's data. */
export interface ListIdentity {
  userId: string;
  /** The URL of the request, with the origin that links in the answer have. */
  url: string;
  /** The parameters without invalid values, with `per_page` clamped. */
  parameters: unknown;
}

/**
 * Returns the weak ETag of a page (RFC 9110, 8.8.3): the version of the data, and a hash of all
 * other inputs. See docs/reference/interface.md, "Polling".
 *
 * @param version letters and digits, at most 32.
 */
export function pageETag(version: string, identity: ListIdentity): string {
  return `W/"${version}-${hashIdentity(identity)}"`;
}

/** Returns the versions of this page in the header `If-None-Match` (RFC 9110, 13.1.2). */
export function versionsInIfNoneMatch(
  ifNoneMatch: string | undefined,
  identity: ListIdentity,
): string[] {
  if (ifNoneMatch === undefined) return [];
  const expectedHash = hashIdentity(identity);
  return [...ifNoneMatch.matchAll(/"([\da-z]{1,32})-([\w-]+)"/g)]
    .filter(([, , identityHash]) => identityHash === expectedHash)
    .map(([, version]) => version as string);
}

/** Returns the weak ETag of a list. Its version is the clock of the user (ISO 8601). */
export function listETag(clock: string, identity: ListIdentity): string {
  return pageETag(Date.parse(clock).toString(36), identity);
}

/**
 * Returns the clock in the ETag that a client has of this list (`If-None-Match`); `undefined`
 * without such an ETag. Of several ETags it uses the latest clock, because an older clock is
 * never current.
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

function hashIdentity({ userId, url, parameters }: ListIdentity): string {
  return hash('sha256', JSON.stringify([jsonVersion, userId, url, parameters]), 'base64url').slice(
    0,
    22,
  );
}
