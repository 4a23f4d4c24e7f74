import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK, SignJWT, type JWK } from 'jose';
import { writePrivateFile } from './secret.file.js';

const algorithm = 'EdDSA';

/** What a token says beyond who it is for. */
export interface TokenTerms {
  /** Scopes separated by spaces. Default: no such claim, which grants everything. */
  readonly scope?: string;
  /** Lifetime from now, such as `90s`, `12h` or `30d`. */
  readonly expires?: string;
}

/**
 * The built-in issuer of access tokens, for those who run no identity provider: a signing key in a file of mode
 * 0600, and beside it the key set that a gateway checks with.
 */
export class TokenIssuer {
  /** The `iss` of its tokens. */
  static readonly issuer = 'urn:podcast-sync:standalone';
  /** The `aud` of its tokens. */
  static readonly audience = 'podcast-sync';
  /** How long a token is good for unless its terms say otherwise. */
  static readonly lifetime = '30d';

  private constructor(
    private readonly key: JWK,
    /** The file with the public key set (JWKS). */
    readonly keySetFile: string,
  ) {}

  /** The issuer whose keys are kept in a directory; they are made the first time and the same ever after. */
  static async open(directory: string): Promise<TokenIssuer> {
    const keyFile = join(directory, 'signing-key.json');
    const keySetFile = join(directory, 'jwks.json');
    if (!existsSync(keyFile)) writePrivateFile(keyFile, `${JSON.stringify(await newKey())}\n`);
    const key = JSON.parse(readFileSync(keyFile, 'utf8')) as JWK;
    const { d: _secret, ...publicKey } = key;
    const keySet = `${JSON.stringify({ keys: [publicKey] }, undefined, 2)}\n`;
    // A start may have ended between the two files. A gateway may read this one just now: no needless write.
    if (!existsSync(keySetFile) || readFileSync(keySetFile, 'utf8') !== keySet) writeFileSync(keySetFile, keySet);
    return new TokenIssuer(key, keySetFile);
  }

  /**
   * Signs a token.
   *
   * @throws TypeError when the lifetime can't be understood.
   */
  async issue(user: string, { scope, expires = TokenIssuer.lifetime }: TokenTerms = {}): Promise<string> {
    return new SignJWT(scope === undefined ? {} : { scope })
      .setProtectedHeader({ alg: algorithm, kid: this.key.kid })
      .setSubject(user)
      .setIssuer(TokenIssuer.issuer)
      .setAudience(TokenIssuer.audience)
      .setIssuedAt()
      .setExpirationTime(expires)
      .sign(await importJWK(this.key, algorithm));
  }
}

async function newKey(): Promise<JWK> {
  const { privateKey } = await generateKeyPair(algorithm, { extractable: true });
  const key = await exportJWK(privateKey);
  return { ...key, kid: await calculateJwkThumbprint(key), alg: algorithm, use: 'sig' };
}
