import { hash } from 'node:crypto';

/** Increase it in every release that answers with other JSON for the same data. */
const representation = 1;

/** All inputs of a list's answer except the user's data. */
export interface ListIdentity {
  userId: string;
  /** The whole URL, with the base of its links. */
  url: string;
  /** The parameters that took effect. */
  effective: unknown;
}

/**
 * Returns the weak ETag of a list (RFC 9110, 8.8.3): the user's clock and a hash of all other
 * inputs. See docs/reference/interface.md, "Polling".
 */
export function listETag(clock: string, identity: ListIdentity): string {
  return `W/"${Date.parse(clock).toString(36)}-${fingerprint(identity)}"`;
}

/**
 * Returns the user's clock from a matching ETag in `If-None-Match` (RFC 9110, 13.1.2); `undefined`
 * for none. Of several it is the latest, because earlier ones cannot be current.
 */
export function knownClock(
  ifNoneMatch: string | undefined,
  identity: ListIdentity,
): string | undefined {
  if (ifNoneMatch === undefined) return undefined;
  const expected = fingerprint(identity);
  const clocks = [...ifNoneMatch.matchAll(/"([\da-z]{1,9})-([\w-]+)"/g)]
    .filter(([, , print]) => print === expected)
    .map(([, clock]) => Number.parseInt(clock as string, 36));
  return clocks.length === 0 ? undefined : new Date(Math.max(...clocks)).toISOString();
}

function fingerprint({ userId, url, effective }: ListIdentity): string {
  return hash(
    'sha256',
    JSON.stringify([representation, userId, url, effective]),
    'base64url',
  ).slice(0, 22);
}
