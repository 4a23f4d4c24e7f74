import { KeyFiles } from '#embedded';
import { importJWK, SignJWT } from 'jose';

/** Scopes and lifetime of a token. */
export interface TokenTerms {
  /** Scopes, separated by spaces. Default: no claim `scope`, which allows everything. */
  readonly scope?: string;
  /** Time until the token expires, such as `90s` or `12h`. Default: 30 days. */
  readonly expires?: string;
}

/** Signs access tokens for tests, with the keys of a directory. */
export class TokenIssuer {
  static readonly issuer = 'urn:podcast-sync:tests';
  static readonly audience = 'podcast-sync';

  private constructor(
    readonly files: KeyFiles,
    private readonly issuer: string,
  ) {}

  /**
   * Opens the keys of a directory, and creates missing ones.
   *
   * @param issuer `iss` of the tokens. A whole system accepts only its origin as `iss`, and only
   *   the keys of its account app.
   */
  static async open(directory: string, issuer = TokenIssuer.issuer): Promise<TokenIssuer> {
    return new TokenIssuer(await KeyFiles.open(directory), issuer);
  }

  get keySetFile(): string {
    return this.files.keySetFile;
  }

  async issue(user: string, { scope, expires = '30d' }: TokenTerms = {}): Promise<string> {
    const key = this.files.readSigningKey();
    return new SignJWT(scope === undefined ? {} : { scope })
      .setProtectedHeader({ alg: 'EdDSA', kid: key.kid })
      .setSubject(user)
      .setIssuer(this.issuer)
      .setAudience(TokenIssuer.audience)
      .setIssuedAt()
      .setExpirationTime(expires)
      .sign(await importJWK(key, 'EdDSA'));
  }
}
