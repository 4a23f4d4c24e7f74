import type { JSONWebKeySet, JWTVerifyGetKey } from 'jose';

/** The public keys of one issuer. */
export interface IssuerKeys {
  /** A number that changes with the keys. May check first whether they have changed. */
  version(): number;
  /**
   * Finds the key of a token by its header.
   *
   * @throws Failure `unavailable` without any keys; JOSEError when none of them fits.
   */
  readonly find: JWTVerifyGetKey;
  /** The key set to publish; only of issuers whose keys the gateway publishes. */
  published?(): JSONWebKeySet;
}
