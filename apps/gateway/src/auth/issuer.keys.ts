import type { JSONWebKeySet, JWTVerifyGetKey } from 'jose';

/** The public keys of one issuer. */
export interface IssuerKeys {
  /** Another number whenever the keys are not the same any more; looks, in its own time, whether they are. */
  version(): number;
  /**
   * Finds the key of a token by its header.
   *
   * @throws Failure `unavailable` when there are no keys to be had; JOSEError when none of them fits.
   */
  readonly find: JWTVerifyGetKey;
  /** The set as it is to be published, where that is our duty. */
  published?(): JSONWebKeySet;
}
