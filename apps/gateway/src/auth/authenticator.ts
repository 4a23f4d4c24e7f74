import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Failure } from '#contracts';
import {
  createLocalJWKSet,
  createRemoteJWKSet,
  errors,
  type JSONWebKeySet,
  type JWTPayload,
  jwtVerify,
  type JWTVerifyGetKey,
} from 'jose';
import type { GatewayConfig } from '../gateway.config.js';
import { issuerAliases, userId } from './user-id.rule.js';

/** What a credential allows. */
export type Scope = 'read:subscriptions' | 'write:subscriptions';

/** Who asks, as far as anything behind the gateway needs to know. */
export interface Caller {
  userId: string;
  /** `undefined`: everything, as the token names no scope. */
  scopes: ReadonlySet<string> | undefined;
}

/** Signatures that need no shared secret. */
const algorithms = ['EdDSA', 'ES256', 'RS256'];
/** Tolerated difference between the provider's clock and ours, in seconds. */
const clockToleranceSeconds = 30;
/** Verified tokens that are remembered at most. */
const cacheSize = 10_000;

/**
 * Checks bearer tokens (interface, Authentication). A verified token is remembered by its hash until it expires, so a
 * polling client costs one verification an hour and not one a request.
 */
export class Authenticator {
  private readonly keys: JWTVerifyGetKey;
  private readonly aliases: ReadonlyMap<string, string>;
  private readonly verified = new Map<string, Caller & { expires: number }>();
  /** The key set to serve, where it is our own. */
  readonly keySet: JSONWebKeySet | undefined;

  constructor(private readonly config: GatewayConfig) {
    this.aliases = issuerAliases(config.AUTH_ISSUER_ALIASES);
    if (config.AUTH_JWKS_FILE !== undefined) {
      this.keySet = JSON.parse(readFileSync(config.AUTH_JWKS_FILE, 'utf8')) as JSONWebKeySet;
      this.keys = createLocalJWKSet(this.keySet);
    } else {
      this.keys = createRemoteJWKSet(new URL(config.AUTH_JWKS_URL as string));
    }
  }

  /**
   * Names the caller of a request.
   *
   * @throws Failure `unauthorized`; `unavailable` when the provider's keys can't be had.
   */
  async authenticate(authorization: string | undefined, scope: Scope): Promise<Caller> {
    const token = /^bearer +([\w.~+/-]+=*)$/i.exec(authorization ?? '')?.[1];
    if (token === undefined) throw new Failure('unauthorized');
    const key = createHash('sha256').update(token).digest('base64');
    const known = this.verified.get(key);
    const caller = known && known.expires > Date.now() ? known : await this.verify(token, key);
    if (caller.scopes && !caller.scopes.has(scope)) throw new Failure('unauthorized');
    return caller;
  }

  private async verify(token: string, key: string): Promise<Caller> {
    const payload = await this.payload(token);
    const issuer = payload.iss as string;
    if (typeof payload.sub !== 'string' || payload.sub === '') throw new Failure('unauthorized');
    const caller = {
      userId: userId(this.aliases.get(issuer) ?? issuer, payload.sub, this.config.AUTH_OWN_ISSUER),
      scopes: scopes(payload['scope']),
      expires: (payload.exp as number) * 1_000,
    };
    this.verified.delete(key);
    this.verified.set(key, caller);
    for (const oldest of this.verified.keys()) {
      if (this.verified.size <= cacheSize) break;
      this.verified.delete(oldest);
    }
    return caller;
  }

  private async payload(token: string): Promise<JWTPayload> {
    try {
      const { payload } = await jwtVerify(token, this.keys, {
        algorithms,
        issuer: this.config.AUTH_ISSUER,
        audience: this.config.AUTH_AUDIENCE,
        requiredClaims: ['exp', 'sub'],
        clockTolerance: clockToleranceSeconds,
      });
      return payload;
    } catch (error) {
      throw new Failure(keysAreAway(error) ? 'unavailable' : 'unauthorized', undefined, { cause: error });
    }
  }
}

/** Whether the fault is not the token's: the provider can't be reached, or answers with something other than keys. */
function keysAreAway(error: unknown): boolean {
  if (!(error instanceof errors.JOSEError)) return true;
  return ['ERR_JOSE_GENERIC', 'ERR_JWKS_TIMEOUT', 'ERR_JWKS_INVALID'].includes(error.code);
}

function scopes(claim: unknown): ReadonlySet<string> | undefined {
  if (claim === undefined) return undefined;
  if (typeof claim === 'string') return new Set(claim.split(' '));
  return new Set(Array.isArray(claim) ? claim.map(String) : []);
}
