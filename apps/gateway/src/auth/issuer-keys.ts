import type { JSONWebKeySet, JWTVerifyGetKey } from 'jose';

/** The public keys of one issuer. */
export interface IssuerKeys {
  /** Returns a number that changes whenever the keys change. The call can start a check of them. */
  version(): number;
  /**
   * Finds the key that signed a token.
   *
   * @throws Failure `unavailable` if no keys could be fetched yet; JOSEError if no key matches.
   */
  readonly find: JWTVerifyGetKey;
  /**
   * Returns the public keys that the gateway publishes. Absent for issuers that publish their own.
   */
  publishedKeySet?(): JSONWebKeySet;
}
