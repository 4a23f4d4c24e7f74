import { appendFileSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  calculateJwkThumbprint,
  decodeJwt,
  exportJWK,
  generateKeyPair,
  importJWK,
  type JSONWebKeySet,
  type JWK,
  SignJWT,
} from 'jose';
import { writePrivateFile } from './secret.file.js';

const algorithm = 'EdDSA';
const daySeconds = 86_400;
/** A key that was replaced is kept at least this long: a token of it may be in the making. */
const leastSeconds = 3_600;

/** What a token says beyond who it is for. */
interface TokenTerms {
  /** Scopes separated by spaces. Default: no such claim, which grants everything. */
  readonly scope?: string;
  /** Lifetime from now, such as `90s`, `12h` or `30d`. */
  readonly expires?: string;
}

/** A key as its owner sees it. */
export interface KnownKey {
  readonly kid: string;
  /** Whether new tokens are signed with it. */
  readonly signs: boolean;
  /** When the last token of it will have expired, in seconds since 1970. `undefined`: there is none. */
  readonly until: number | undefined;
}

/**
 * The built-in issuer of access tokens, for those who run no identity provider: a signing key in a file of mode
 * 0600, and beside it the key set that a gateway checks with.
 * - A replaced key proves its tokens until the last of them has expired, and is in the key set no longer than that.
 * - The file with the expiries of tokens is only added to: two that sign at once lose nothing.
 * - A key that nobody asked for, made at the first start, is a development key: its `kid` says so.
 */
export class TokenIssuer {
  /** The `iss` of its tokens. */
  static readonly issuer = 'urn:podcast-sync:standalone';
  /** The `aud` of its tokens. */
  static readonly audience = 'podcast-sync';
  /** How long a token is good for unless its terms say otherwise. */
  static readonly lifetime = '30d';

  private constructor(private readonly directory: string) {}

  /** The issuer whose keys are kept in a directory; they are made the first time and the same until rotated. */
  static async open(directory: string): Promise<TokenIssuer> {
    const issuer = new TokenIssuer(directory);
    if (!existsSync(issuer.keyFile)) writePrivateFile(issuer.keyFile, serialized(await newKey('dev-')));
    issuer.publish();
    return issuer;
  }

  /** The file with the public key set (JWKS). */
  get keySetFile(): string {
    return join(this.directory, 'jwks.json');
  }

  /**
   * Signs a token.
   *
   * @throws TypeError when the lifetime can't be understood.
   */
  async issue(user: string, { scope, expires = TokenIssuer.lifetime }: TokenTerms = {}): Promise<string> {
    const key = this.signingKey();
    const token = await new SignJWT(scope === undefined ? {} : { scope })
      .setProtectedHeader({ alg: algorithm, kid: key.kid })
      .setSubject(user)
      .setIssuer(TokenIssuer.issuer)
      .setAudience(TokenIssuer.audience)
      .setIssuedAt()
      .setExpirationTime(expires)
      .sign(await importJWK(key, algorithm));
    this.remember(key.kid, decodeJwt(token).exp as number);
    return token;
  }

  /** Signs with a new key from now on. @param now whether tokens of older keys end with it, as after a leak. */
  async rotate({ now = false } = {}): Promise<KnownKey[]> {
    const [old, key] = [this.signingKey(), await newKey('')];
    // Known to gateways before the first token is signed with it.
    this.writeKeySet([publicPart(key), ...this.published()]);
    writePrivateFile(this.keyFile, serialized(key));
    if (now) this.writeKeySet([publicPart(key)]);
    else this.remember(old.kid, Math.floor(Date.now() / 1_000) + leastSeconds);
    this.publish();
    return this.keys();
  }

  /** The keys in the key set, the one that signs first. */
  keys(): KnownKey[] {
    const [{ kid: signing }, expiries] = [this.signingKey(), this.expiries()];
    return this.published().map(({ kid }) => ({
      kid: kid as string,
      signs: kid === signing,
      until: expiries.get(kid as string),
    }));
  }

  private get keyFile(): string {
    return join(this.directory, 'signing-key.json');
  }

  private get expiryFile(): string {
    return join(this.directory, 'token-expiries');
  }

  private signingKey(): JWK & { kid: string } {
    return JSON.parse(readFileSync(this.keyFile, 'utf8')) as JWK & { kid: string };
  }

  private published(): JWK[] {
    if (!existsSync(this.keySetFile)) return [];
    return (JSON.parse(readFileSync(this.keySetFile, 'utf8')) as JSONWebKeySet).keys;
  }

  /** Brings the key set in order: the signing key, and older ones whose tokens have not all expired. */
  private publish(): void {
    const [key, expiries, now] = [this.signingKey(), this.expiries(), Date.now() / 1_000];
    const older = this.published().filter(({ kid }) => kid !== key.kid && (expiries.get(kid as string) ?? 0) > now);
    this.writeKeySet([publicPart(key), ...older]);
  }

  /** Whole or not at all, and not needlessly: a gateway may read it just now. */
  private writeKeySet(keys: JWK[]): void {
    const text = `${JSON.stringify({ keys }, undefined, 2)}\n`;
    if (existsSync(this.keySetFile) && readFileSync(this.keySetFile, 'utf8') === text) return;
    const unfinished = `${this.keySetFile}.${process.pid}.new`;
    writeFileSync(unfinished, text);
    renameSync(unfinished, this.keySetFile);
  }

  /** For each key when its last token expires; a line is `kid seconds`. */
  private expiries(): Map<string, number> {
    const lines = existsSync(this.expiryFile) ? readFileSync(this.expiryFile, 'utf8').split('\n') : [];
    const latest = new Map<string, number>();
    for (const line of lines) {
      const [kid = '', seconds] = line.split(' ');
      latest.set(kid, Math.max(latest.get(kid) ?? 0, Number(seconds) || 0));
    }
    return latest;
  }

  /** Rounded up to a day, so that the file gets a line a day and not one a token. */
  private remember(kid: string, expires: number): void {
    if ((this.expiries().get(kid) ?? 0) >= expires) return;
    const whole = Math.ceil(expires / daySeconds) * daySeconds;
    appendFileSync(this.expiryFile, `${kid} ${whole}\n`, { mode: 0o600 });
  }
}

async function newKey(mark: 'dev-' | ''): Promise<JWK> {
  const { privateKey } = await generateKeyPair(algorithm, { extractable: true });
  const key = await exportJWK(privateKey);
  return { ...key, kid: `${mark}${await calculateJwkThumbprint(key)}`, alg: algorithm, use: 'sig' };
}

function publicPart({ d: _secret, ...publicKey }: JWK): JWK {
  return publicKey;
}

function serialized(key: JWK): string {
  return `${JSON.stringify(key)}\n`;
}
