import type { JSONWebKeySet, JWTVerifyGetKey } from 'jose';

/** The public keys of one issuer. */
export interface IssuerKeys {
  /** Returns a number that changes whenever the keys change. Can start a check for changed keys. */
  version(): number;
  /**
   * Finds the key that signed a token.
   *
   * @throws Failure `unavailable` if no keys could be fetched yet; JOSEError if no key matches.
   */
  readonly find: JWTVerifyGetKey;
  /** Returns the key set to publish; only for issuers whose keys the gateway publishes. */
  published?(): JSONWebKeySet;
}
