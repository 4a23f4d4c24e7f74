import type { JSONWebKeySet, JWTVerifyGetKey } from 'jose';

/** The public keys of one issuer. */
export interface IssuerKeys {
  /** Returns a number that changes if the keys change. The call can start an update of the keys. */
  version(): number;
  /**
   * Finds the key that signed a token.
   *
   * @throws Failure `unavailable` if no keys could be fetched yet; JOSEError if no key matches.
   */
  readonly find: JWTVerifyGetKey;
  /**
   * Returns the public keys, for the gateway to publish. The method is absent for an issuer that
   * publishes its keys.
   */
  publishedKeySet?(): JSONWebKeySet;
}
