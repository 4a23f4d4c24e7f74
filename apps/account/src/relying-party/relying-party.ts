import { Inject, Injectable } from '@nestjs/common';
import { issuerAliases, userId } from '#identity';
import { FaultLog, type Log } from '#runtime';
import * as client from 'openid-client';
import { z } from 'zod';
import { type AccountConfig, CONFIG, LOG } from '../account.config.js';
import { type Account, Accounts } from '../people/accounts.js';
import { Refusal } from '../people/refusal.js';
import { Seal } from '../people/seal.js';

/** Maximum duration of a sign-in at the OpenID provider in seconds; a later response is refused. */
export const maxLoginSeconds = 900;
/**
 * Parameter `max_age` in seconds (OpenID Connect Core, 3.1.2.1). If the last sign-in at the
 * provider is older, the provider asks the person again. Approvals require a recent sign-in.
 */
const maxAgeSeconds = 240;
/** Timeout of requests to the provider, in seconds. */
const timeoutSeconds = 10;
const sealPurpose = 'sign-in by a provider';

const ticketSchema = z.object({
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  next: z.string().optional(),
  until: z.number(),
});

/** Authorization request at the provider: `url` is the target of the browser's redirect. */
export interface AuthorizationRequest {
  readonly url: URL;
  /** Cookie value that binds the request to the browser. */
  readonly ticket: string;
}

/** Result of a sign-in at the operator's OpenID provider. */
export interface ProviderSignIn {
  readonly account: Account;
  /** Path that the person requested before the sign-in; undefined without one. */
  readonly next: string | undefined;
}

/**
 * Signs people in at the operator's OpenID provider (OpenID Connect Core, 3.1): code flow with
 * PKCE, state and nonce. An encrypted cookie binds these values to the browser. The gateway
 * derives the same user ids from the provider's tokens.
 */
@Injectable()
export class RelyingParty {
  /** Metadata of the provider; undefined before the first request and after a failed one. */
  private cachedProvider: Promise<client.Configuration> | undefined;
  private readonly discoveryFaults: FaultLog;
  private readonly tokenFaults: FaultLog;

  constructor(
    @Inject(CONFIG) private readonly config: AccountConfig,
    @Inject(LOG) private readonly log: Log,
    private readonly accounts: Accounts,
    private readonly sealing: Seal,
  ) {
    this.discoveryFaults = new FaultLog(log, {
      failed: 'metadata of SIGN_IN_ISSUER not readable: sign-in with it fails',
      recovered: 'metadata of SIGN_IN_ISSUER readable: sign-in with it works',
    });
    this.tokenFaults = new FaultLog(log, {
      failed: 'token endpoint of SIGN_IN_ISSUER unavailable: sign-in with it fails',
      recovered: 'token endpoint of SIGN_IN_ISSUER available: sign-in with it works',
    });
  }

  /** Host of the provider; undefined without `SIGN_IN_ISSUER`. */
  get host(): string | undefined {
    const { SIGN_IN_ISSUER } = this.config;
    return SIGN_IN_ISSUER === undefined ? undefined : new URL(SIGN_IN_ISSUER).host;
  }

  /**
   * Starts a sign-in.
   *
   * @param next path that opens after the sign-in.
   * @throws Refusal `unavailable` if the provider does not respond.
   */
  async startLogin(next: string | undefined): Promise<AuthorizationRequest> {
    const provider = await this.discoverProvider();
    const [state, nonce, verifier] = [
      client.randomState(),
      client.randomNonce(),
      client.randomPKCECodeVerifier(),
    ];
    const until = Date.now() + maxLoginSeconds * 1_000;
    const ticket = this.sealing.seal(
      sealPurpose,
      JSON.stringify({ state, nonce, verifier, next, until }),
    );
    const url = client.buildAuthorizationUrl(provider, {
      redirect_uri: this.callbackUrl,
      scope: 'openid',
      state,
      nonce,
      max_age: String(maxAgeSeconds),
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    });
    return { url, ticket: ticket.toString('base64url') };
  }

  /**
   * Completes a sign-in with the query of the provider's redirect.
   *
   * @throws Refusal `credentials` if the response is invalid, late or for another browser, or the
   *   account is disabled; `unavailable` if the provider does not respond.
   */
  async finishLogin(query: string, ticket: string | undefined): Promise<ProviderSignIn> {
    const { state, nonce, verifier, next, until } = this.unsealTicket(ticket);
    if (until < Date.now()) throw new Refusal('credentials');
    const provider = await this.discoverProvider();
    const url = new URL(`${this.callbackUrl}?${query}`);
    const expectedValues = {
      expectedState: state,
      expectedNonce: nonce,
      pkceCodeVerifier: verifier,
      maxAge: maxAgeSeconds,
    };
    const tokens = await client
      .authorizationCodeGrant(provider, url, { ...expectedValues, idTokenExpected: true })
      .catch((error: unknown) => this.throwRefusal(error));
    this.tokenFaults.recordSuccess();
    const { iss, sub } = tokens.claims() as client.IDToken;
    const issuer = issuerAliases(this.config.AUTH_ISSUER_ALIASES).get(iss) ?? iss;
    const account = await this.accounts.findOrCreateByProvider(
      issuer,
      sub,
      userId(issuer, sub, this.config.AUTH_OWN_ISSUER),
    );
    if (account.disabled) throw new Refusal('credentials');
    return { account, next };
  }

  /** Logs a failed request to the token endpoint. @throws Refusal that the page shows. */
  private throwRefusal(error: unknown): never {
    if (isOutage(error)) {
      this.tokenFaults.recordFailure(error);
      throw new Refusal('unavailable');
    }
    this.log.info(
      { reason: (error as { code?: string }).code },
      'sign-in refused: the OpenID provider denied it or sent an invalid response',
    );
    throw new Refusal('credentials');
  }

  private get callbackUrl(): string {
    return `${this.config.PUBLIC_URL}/sign-in/provider/callback`;
  }

  private unsealTicket(ticket = ''): z.output<typeof ticketSchema> {
    const ticketJson = /^[\w-]{1,4000}$/.test(ticket)
      ? this.sealing.open(sealPurpose, Buffer.from(ticket, 'base64url'))
      : undefined;
    if (ticketJson === undefined) throw new Refusal('credentials');
    return ticketSchema.parse(JSON.parse(ticketJson));
  }

  /** Returns the provider's metadata, cached after the first success. */
  private async discoverProvider(): Promise<client.Configuration> {
    const { SIGN_IN_ISSUER = '', SIGN_IN_CLIENT_ID, SIGN_IN_CLIENT_SECRET } = this.config;
    const issuer = new URL(SIGN_IN_ISSUER);
    const clientAuth = SIGN_IN_CLIENT_SECRET === undefined ? client.None() : undefined;
    const execute = issuer.protocol === 'http:' ? [client.allowInsecureRequests] : [];
    const options = { execute, timeout: timeoutSeconds };
    this.cachedProvider ??= client.discovery(
      issuer,
      SIGN_IN_CLIENT_ID,
      SIGN_IN_CLIENT_SECRET,
      clientAuth,
      options,
    );
    try {
      const configuration = await this.cachedProvider;
      this.discoveryFaults.recordSuccess();
      return configuration;
    } catch (error) {
      this.cachedProvider = undefined;
      this.discoveryFaults.recordFailure(error);
      throw new Refusal('unavailable');
    }
  }
}

/** Returns true if a request to the provider got no response: a timeout, or fetch's TypeError. */
function isOutage(error: unknown): boolean {
  const { code } = error as { code?: string };
  return code === 'OAUTH_TIMEOUT' || (error instanceof TypeError && code === undefined);
}
