import { hash as digest } from 'node:crypto';
import { Failure } from '#contracts';
import { AuthenticationFailure } from '#http';
import {
  appPasswordHash,
  appPasswordPrefix,
  type AppPasswords,
  CredentialCache,
  issuerAliases,
  type Revocations,
  userId,
} from '#identity';
import type { Log } from '#runtime';
import { decodeJwt, errors, type JSONWebKeySet, type JWTPayload, jwtVerify } from 'jose';
import type { GatewayConfig } from '../gateway.config.js';
import { FileKeys } from './file.keys.js';
import type { IssuerKeys } from './issuer.keys.js';
import { discoverKeySet, RemoteKeys } from './remote.keys.js';
import { type TrustedIssuer, trustedIssuers } from './trusted.issuers.js';

/** Why a credential is not accepted, for the operator; clients get the same 401 for all of them. */
export type FailureReason =
  | 'missing'
  | 'malformed'
  | 'issuer'
  | 'algorithm'
  | 'key'
  | 'signature'
  | 'audience'
  | 'expired'
  | 'not_yet_valid'
  | 'claims'
  | 'scope'
  | 'app_password'
  | 'revoked';

/** What a credential allows. */
export type Scope = 'read:subscriptions' | 'write:subscriptions';

/** The authenticated user of a request. */
export interface Caller {
  userId: string;
  /** `undefined` where the token has no claim of scopes, which allows everything. */
  scopes: ReadonlySet<string> | undefined;
  /** When the credential expires, in milliseconds; one that never does has none. */
  expires?: number | undefined;
}

/** What ends a credential before it expires, and who knows app passwords: without the latter none is accepted. */
export interface Credentials {
  readonly revocations?: Revocations;
  readonly appPasswords?: AppPasswords;
}

/** A caller whose token was verified, and the version of the keys that verified it. */
interface Verified extends Caller {
  gid: string | undefined;
  issuedAt: number | undefined;
  expires: number;
  keys: IssuerKeys;
  version: number;
}

/** A caller with an app password, and when that was found to hold, by `performance.now()`. */
interface Holder extends Caller {
  credentialId: string;
  askedAt: number;
}

/** Signatures that need no shared secret. */
const algorithms = ['EdDSA', 'ES256', 'RS256'];
/** Tolerated difference between the provider's clock and ours, in seconds. */
const clockToleranceSeconds = 30;
/** Verified tokens that are cached at most. */
const cacheSize = 10_000;

/**
 * Checks bearer tokens (docs/reference/interface.md, "Credential").
 * - A token is checked with the keys of the issuer that it names, and with no others.
 * - A verified token is cached by its hash, while a new verification would accept it and its issuer's keys stay the same, so a
 *   polling client costs one verification an hour and not one a request. Requests that come together share one.
 * - One that was revoked is refused at its next request.
 */
export class Authenticator {
  private readonly issuers: ReadonlyMap<string, IssuerKeys>;
  private readonly aliases: ReadonlyMap<string, string>;
  private readonly verified = new CredentialCache<Verified, string>({
    max: cacheSize,
    ttl: Infinity,
    ask: (_hash, token) => this.verify(token),
    // As long as a token that is verified anew is accepted.
    expiresAt: ({ expires }) => expires + clockToleranceSeconds * 1_000,
    isRevoked: ({ keys, version }) => version !== keys.version(),
  });

  /** @throws ConfigurationError when a key set in a file can't be used. */
  constructor(
    private readonly config: GatewayConfig,
    log: Log,
    private readonly credentials: Credentials = {},
  ) {
    this.aliases = issuerAliases(config.AUTH_ISSUER_ALIASES);
    this.issuers = new Map(trustedIssuers(config).map((issuer) => [issuer.issuer, keysOf(issuer, config, log)]));
  }

  /** The key sets to serve, as one: those that are kept in files. `undefined`: none. */
  keySet(): JSONWebKeySet | undefined {
    const sets = [...this.issuers.values()].flatMap((keys) => keys.published?.() ?? []);
    return sets.length === 0 ? undefined : { keys: sets.flatMap(({ keys }) => keys) };
  }

  /**
   * Names the caller of a request.
   *
   * @param address where it asks from.
   * @throws AuthenticationFailure; RateLimited for too many wrong app passwords of its address; Failure `unavailable` when
   * the provider's keys can't be had, or nobody knows app passwords.
   */
  async authenticate(authorization: string | undefined, scope: Scope, address: string): Promise<Caller> {
    if (authorization === undefined) throw new AuthenticationFailure('missing');
    const token = /^bearer +([\w.~+/-]+=*)$/i.exec(authorization)?.[1];
    if (token === undefined) throw new AuthenticationFailure('malformed');
    const caller = await (token.startsWith(appPasswordPrefix) ? this.holderOf(token, address) : this.callerOf(token));
    if (caller.scopes && !caller.scopes.has(scope)) throw new AuthenticationFailure('scope', {}, scope);
    return caller;
  }

  /** Whether a caller whom {@link authenticate} named would still be let in. */
  holds(caller: Caller): boolean {
    const { expires, keys, version } = caller as Partial<Verified>;
    if (expires !== undefined && expires <= Date.now()) return false;
    return keys?.version() === version && !this.credentials.revocations?.refuses(caller);
  }

  /** Stays the same as long as nothing but time makes {@link holds} say no: when it changes, it is to be asked again. */
  get revoked(): number {
    return this.credentials.revocations?.heard ?? 0;
  }

  private async holderOf(appPassword: string, address: string): Promise<Holder> {
    const { appPasswords } = this.credentials;
    const hash = appPasswordHash(appPassword);
    if (!appPasswords || hash === undefined) throw new AuthenticationFailure('malformed');
    const credential = await appPasswords.check(hash, address);
    if (!credential) throw new AuthenticationFailure('app_password');
    const { credentialId, expiresAt } = credential;
    const expires = expiresAt === undefined ? undefined : Date.parse(expiresAt);
    return {
      userId: credential.userId,
      scopes: new Set(credential.scopes),
      expires,
      credentialId,
      askedAt: performance.now(),
    };
  }

  private async callerOf(token: string): Promise<Caller> {
    const caller = await this.verified.find(digest('sha256', token, 'base64'), token);
    if (!caller) throw new AuthenticationFailure('expired');
    if (this.credentials.revocations?.refuses(caller)) throw new AuthenticationFailure('revoked');
    return caller;
  }

  private async verify(token: string): Promise<Verified> {
    const issuer = claimedIssuer(token);
    const keys = this.issuers.get(issuer);
    if (!keys) throw new AuthenticationFailure('issuer');
    const version = keys.version();
    const { sub, exp, iat, gid, scope, scp } = await this.payload(token, issuer, keys);
    // In UTF-8 all lone surrogates are the same bytes, so subjects that differ in one only would be the same user.
    if (typeof sub !== 'string' || sub === '' || !sub.isWellFormed()) throw new AuthenticationFailure('claims');
    return {
      userId: userId(this.aliases.get(issuer) ?? issuer, sub, this.config.AUTH_OWN_ISSUER),
      scopes: scopesOf([scope, scp]),
      gid: typeof gid === 'string' ? gid : undefined,
      issuedAt: iat,
      expires: (exp as number) * 1_000,
      keys,
      version,
    };
  }

  private async payload(token: string, issuer: string, keys: IssuerKeys): Promise<JWTPayload> {
    try {
      const { payload } = await jwtVerify(token, keys.find, {
        algorithms,
        issuer,
        audience: this.config.AUTH_AUDIENCE,
        requiredClaims: ['exp', 'sub'],
        clockTolerance: clockToleranceSeconds,
      });
      return payload;
    } catch (error) {
      if (error instanceof Failure) throw error;
      throw new AuthenticationFailure(reasonOf(error), { cause: error });
    }
  }
}

function keysOf({ issuer, keys }: TrustedIssuer, config: GatewayConfig, log: Log): IssuerKeys {
  if (keys === 'discovery') return new RemoteKeys(issuer, () => discoverKeySet(issuer), log);
  const usual = config.NODE_ENV === 'production' ? 'refuse' : 'allow';
  if ('file' in keys) return new FileKeys(keys.file, config.AUTH_DEVELOPMENT_KEYS ?? usual, log);
  return new RemoteKeys(issuer, async () => keys.url, log);
}

/** The issuer that a token names. Not verified yet: it only selects the keys that have to verify it. */
function claimedIssuer(token: string): string {
  try {
    return String(decodeJwt(token).iss);
  } catch (error) {
    throw new AuthenticationFailure('malformed', { cause: error });
  }
}

const reasons: Readonly<Record<string, FailureReason>> = {
  ERR_JOSE_ALG_NOT_ALLOWED: 'algorithm',
  ERR_JWKS_NO_MATCHING_KEY: 'key',
  ERR_JWKS_MULTIPLE_MATCHING_KEYS: 'key',
  ERR_JWS_SIGNATURE_VERIFICATION_FAILED: 'signature',
  ERR_JWT_EXPIRED: 'expired',
  ERR_JWT_CLAIM_VALIDATION_FAILED: 'claims',
};
const claimReasons: Readonly<Record<string, FailureReason>> = { aud: 'audience', iss: 'issuer', nbf: 'not_yet_valid' };

function reasonOf(error: unknown): FailureReason {
  if (error instanceof errors.JWTClaimValidationFailed) return claimReasons[error.claim] ?? 'claims';
  // An error that is none of jose's comes from a key that can't be used, e.g. an RSA key that is too short.
  return error instanceof errors.JOSEError ? (reasons[error.code] ?? 'malformed') : 'key';
}

/** The scopes of the claims `scope` and `scp`, each a text or an array; `undefined` where there is neither. */
function scopesOf(claims: readonly unknown[]): ReadonlySet<string> | undefined {
  const sent = claims.filter((claim) => claim !== undefined);
  if (sent.length === 0) return undefined;
  const words = (claim: unknown) => (typeof claim === 'string' ? claim.split(' ') : claim);
  return new Set(sent.flatMap(words).map(String));
}
