import { hash } from 'node:crypto';

/** To be increased with every release that answers with other JSON for the same data. */
const representation = 1;

/** Everything but the user's data that a list's answer depends on. */
export interface ListIdentity {
  userId: string;
  /** The whole URL with the base of its links. */
  url: string;
  /** The parameters as they took effect. */
  effective: unknown;
}

/**
 * The weak ETag of a list (RFC 9110, 8.8.3): the user's clock, readable, and a hash of everything else. See
 * docs/reference/interface.md, "Polling".
 */
export function listETag(clock: string, identity: ListIdentity): string {
  return `W/"${Date.parse(clock).toString(36)}-${fingerprint(identity)}"`;
}

/**
 * The user's clock in an ETag of this list in `If-None-Match` (RFC 9110, 13.1.2); `undefined` without one. Of several the
 * latest, as no other can be the present one.
 */
export function knownClock(ifNoneMatch: string | undefined, identity: ListIdentity): string | undefined {
  if (ifNoneMatch === undefined) return undefined;
  const expected = fingerprint(identity);
  const clocks = [...ifNoneMatch.matchAll(/"([\da-z]{1,9})-([\w-]+)"/g)]
    .filter(([, , print]) => print === expected)
    .map(([, clock]) => Number.parseInt(clock as string, 36));
  return clocks.length === 0 ? undefined : new Date(Math.max(...clocks)).toISOString();
}

function fingerprint({ userId, url, effective }: ListIdentity): string {
  return hash('sha256', JSON.stringify([representation, userId, url, effective]), 'base64url').slice(0, 22);
}
