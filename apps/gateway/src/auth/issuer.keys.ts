import type { JSONWebKeySet, JWTVerifyGetKey } from 'jose';

/** The public keys of one issuer. */
export interface IssuerKeys {
  /** Returns a number that changes with the keys. It can check for changes first. */
  version(): number;
  /** Finds a token's key. @throws Failure `unavailable` without keys; JOSEError for no match. */
  readonly find: JWTVerifyGetKey;
  /** Returns the key set to publish; only for issuers whose keys the gateway publishes. */
  published?(): JSONWebKeySet;
}
