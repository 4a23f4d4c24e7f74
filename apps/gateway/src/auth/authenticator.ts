import { hash as digest } from 'node:crypto';
import { Failure, type Scope } from '#contracts';
import { AuthenticationFailure } from '#http';
import {
  appPasswordHash,
  appPasswordPrefix,
  type AppPasswordVerifier,
  CredentialCache,
  issuerAliases,
  type Revocations,
  userId,
} from '#identity';
import type { Log } from '#runtime';
import { decodeJwt, errors, type JSONWebKeySet, type JWTPayload, jwtVerify } from 'jose';
import type { GatewayConfig } from '../gateway.config.js';
import { FileKeys } from './file-keys.js';
import type { IssuerKeys } from './issuer-keys.js';
import { discoverKeySet, RemoteKeys } from './remote-keys.js';
import { type TrustedIssuer, trustedIssuers } from './trusted-issuers.js';

/** Reason for rejecting a credential, for logs and metrics. Clients get 401 for every reason. */
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

/**
 * A scope that a route requires. `write:feeds` is for the catalogue of a platform; users cannot
 * grant it to apps.
 */
export type RequiredScope = Scope | 'write:feeds';

/** The authenticated user of a request, with the scopes and the expiry of the credential. */
export interface Caller {
  userId: string;
  /** `undefined` if the token has no scope claim. Such a token allows all but `write:feeds`. */
  scopes: ReadonlySet<string> | undefined;
  /** Expiry in milliseconds since the epoch; `undefined` if the credential does not expire. */
  expires?: number | undefined;
}

/** Sources of revocations and app passwords. Without `appPasswords`, none is accepted. */
export interface CredentialSources {
  readonly revocations?: Revocations;
  readonly appPasswords?: AppPasswordVerifier;
}

/** A caller with a token, and the keys that verified the token. */
interface TokenCaller extends Caller {
  /** Claim `gid`: id of the token's grant or browser session; `undefined` without the claim. */
  gid: string | undefined;
  /** Claim `iat` in seconds since the epoch; `undefined` without the claim. */
  issuedAt: number | undefined;
  expires: number;
  keys: IssuerKeys;
  /** The version of `keys` that verified the token. */
  keysVersion: number;
}

/** A caller with an app password. */
interface AppPasswordCaller extends Caller {
  credentialId: string;
  /** Time of the lookup of the app password, by `performance.now()`. */
  lookedUpAt: number;
}

/** Accepted signature algorithms, all asymmetric: the gateway needs only public keys. */
const signatureAlgorithms = ['EdDSA', 'ES256', 'RS256'];
/** Tolerated difference between the clocks of the issuer and of this machine, in seconds. */
const clockToleranceSeconds = 30;
/** Maximum number of verified tokens in memory; the least recently used is evicted. */
const maxCachedTokens = 10_000;

/**
 * Checks bearer tokens (docs/reference/interface.md, "Credential"). Invariants:
 * - A token is verified only with the keys of the issuer that the token names.
 * - A verified token is cached by its hash, until it expires or its issuer's keys change. So a
 *   polling client costs one verification per token. Concurrent requests share a verification.
 * - A token is rejected as soon as this process has received its revocation.
 */
export class Authenticator {
  private readonly keysByIssuer: ReadonlyMap<string, IssuerKeys>;
  private readonly firstIssuerByAlias: ReadonlyMap<string, string>;
  private readonly verifiedTokens = new CredentialCache<TokenCaller, string>({
    max: maxCachedTokens,
    ttl: Infinity,
    lookUp: (_hash, token) => this.verifyToken(token),
    // Caches a token for as long as a new verification would accept the token.
    expiresAt: ({ expires }) => expires + clockToleranceSeconds * 1_000,
    isRevoked: ({ keys, keysVersion }) => keysVersion !== keys.version(),
  });

  /** @throws ConfigurationError if the file of a key set is missing or invalid. */
  constructor(
    private readonly config: GatewayConfig,
    log: Log,
    private readonly sources: CredentialSources = {},
  ) {
    this.firstIssuerByAlias = issuerAliases(config.AUTH_ISSUER_ALIASES);
    this.keysByIssuer = new Map(
      trustedIssuers(config).map((issuer) => [issuer.issuer, createKeys(issuer, config, log)]),
    );
  }

  /** Returns all keys of the files in `AUTH_JWKS_FILE`, to publish; `undefined` without a file. */
  keySet(): JSONWebKeySet | undefined {
    const keySets = [...this.keysByIssuer.values()].flatMap(
      (keys) => keys.publishedKeySet?.() ?? [],
    );
    return keySets.length === 0 ? undefined : { keys: keySets.flatMap(({ keys }) => keys) };
  }

  /**
   * Returns the caller of a request.
   *
   * @param address the client's IP address.
   * @throws AuthenticationFailure; RateLimited after too many nonexistent app passwords from the
   *   network of `address`; Failure `unavailable` if the issuer's keys or the account service are
   *   unavailable.
   */
  async authenticate(
    authorization: string | undefined,
    scope: RequiredScope,
    address: string,
  ): Promise<Caller> {
    if (authorization === undefined) throw new AuthenticationFailure('missing');
    const token = /^bearer +([\w.~+/-]+=*)$/i.exec(authorization)?.[1];
    if (token === undefined) throw new AuthenticationFailure('malformed');
    const caller = await (token.startsWith(appPasswordPrefix)
      ? this.checkAppPassword(token, address)
      : this.checkToken(token));
    if (caller.scopes && !caller.scopes.has(scope))
      throw new AuthenticationFailure('scope', {}, scope);
    return caller;
  }

  /** Returns true if the caller's credential is still valid. */
  isStillValid(caller: Caller): boolean {
    const { expires, keys, keysVersion } = caller as Partial<TokenCaller>;
    if (expires !== undefined && expires <= Date.now()) return false;
    return keys?.version() === keysVersion && !this.sources.revocations?.isRevoked(caller);
  }

  /**
   * Number of revocations received so far. While the number does not change, a credential becomes
   * invalid only by its expiry or by a change of its issuer's keys.
   */
  get receivedRevocations(): number {
    return this.sources.revocations?.received ?? 0;
  }

  private async checkAppPassword(appPassword: string, address: string): Promise<AppPasswordCaller> {
    const { appPasswords } = this.sources;
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
      lookedUpAt: performance.now(),
    };
  }

  private async checkToken(token: string): Promise<Caller> {
    const caller = await this.verifiedTokens.find(digest('sha256', token, 'base64'), token);
    // During the verification, the token expired or the keys of its issuer changed.
    if (!caller) throw new AuthenticationFailure('expired');
    if (this.sources.revocations?.isRevoked(caller)) throw new AuthenticationFailure('revoked');
    return caller;
  }

  private async verifyToken(token: string): Promise<TokenCaller> {
    const issuer = readClaimedIssuer(token);
    const keys = this.keysByIssuer.get(issuer);
    if (!keys) throw new AuthenticationFailure('issuer');
    const keysVersion = keys.version();
    const { sub, exp, iat, gid, scope, scp } = await this.verifyPayload(token, issuer, keys);
    // Rejects lone surrogates, because UTF-8 encodes all of them as the same bytes. Two subjects
    // that differ only in a lone surrogate would get the same user id.
    if (typeof sub !== 'string' || sub === '' || !sub.isWellFormed())
      throw new AuthenticationFailure('claims');
    return {
      userId: userId(
        this.firstIssuerByAlias.get(issuer) ?? issuer,
        sub,
        this.config.AUTH_OWN_ISSUER,
      ),
      scopes: parseScopes([scope, scp]),
      gid: typeof gid === 'string' ? gid : undefined,
      issuedAt: iat,
      expires: (exp as number) * 1_000,
      keys,
      keysVersion,
    };
  }

  private async verifyPayload(
    token: string,
    issuer: string,
    keys: IssuerKeys,
  ): Promise<JWTPayload> {
    try {
      const { payload } = await jwtVerify(token, keys.find, {
        algorithms: signatureAlgorithms,
        issuer,
        audience: this.config.AUTH_AUDIENCE,
        requiredClaims: ['exp', 'sub'],
        clockTolerance: clockToleranceSeconds,
      });
      return payload;
    } catch (error) {
      if (error instanceof Failure) throw error;
      throw new AuthenticationFailure(toFailureReason(error), { cause: error });
    }
  }
}

/** Creates the source of an issuer's keys: a file, a URL or discovery. */
function createKeys({ issuer, keys }: TrustedIssuer, config: GatewayConfig, log: Log): IssuerKeys {
  if (keys === 'discovery') return new RemoteKeys(issuer, () => discoverKeySet(issuer), log);
  const defaultPolicy = config.NODE_ENV === 'production' ? 'refuse' : 'allow';
  if ('file' in keys)
    return new FileKeys(keys.file, config.AUTH_DEVELOPMENT_KEYS ?? defaultPolicy, log);
  return new RemoteKeys(issuer, async () => keys.url, log);
}

/** Returns the issuer that an unverified token claims, to select the keys for its verification. */
function readClaimedIssuer(token: string): string {
  try {
    return String(decodeJwt(token).iss);
  } catch (error) {
    throw new AuthenticationFailure('malformed', { cause: error });
  }
}

/** Reasons for a rejection, by the error code of the library jose. */
const reasonsByCode: Readonly<Record<string, FailureReason>> = {
  ERR_JOSE_ALG_NOT_ALLOWED: 'algorithm',
  ERR_JWKS_NO_MATCHING_KEY: 'key',
  ERR_JWKS_MULTIPLE_MATCHING_KEYS: 'key',
  ERR_JWS_SIGNATURE_VERIFICATION_FAILED: 'signature',
  ERR_JWT_EXPIRED: 'expired',
  ERR_JWT_CLAIM_VALIDATION_FAILED: 'claims',
};
/** Reasons for a rejection, by the claim that is wrong. */
const reasonsByClaim: Readonly<Record<string, FailureReason>> = {
  aud: 'audience',
  iss: 'issuer',
  nbf: 'not_yet_valid',
};

function toFailureReason(error: unknown): FailureReason {
  if (error instanceof errors.JWTClaimValidationFailed)
    return reasonsByClaim[error.claim] ?? 'claims';
  // Errors that are not of jose come from unusable keys, such as an RSA key that is too short.
  return error instanceof errors.JOSEError ? (reasonsByCode[error.code] ?? 'malformed') : 'key';
}

/** Returns the scopes in the claims `scope` and `scp`; `undefined` if a token has neither. */
function parseScopes(claims: readonly unknown[]): ReadonlySet<string> | undefined {
  const sentClaims = claims.filter((claim) => claim !== undefined);
  if (sentClaims.length === 0) return undefined;
  const splitScopes = (claim: unknown) => (typeof claim === 'string' ? claim.split(' ') : claim);
  return new Set(sentClaims.flatMap(splitScopes).map(String));
}
