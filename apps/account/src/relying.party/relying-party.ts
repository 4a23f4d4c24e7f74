import { Inject, Injectable } from '@nestjs/common';
import { issuerAliases, userId } from '#identity';
import type { Log } from '#runtime';
import * as client from 'openid-client';
import { z } from 'zod';
import { type AccountConfig, CONFIG, LOG } from '../account.config.js';
import { type Account, Accounts } from '../people/accounts.js';
import { Refusal } from '../people/refusal.js';
import { Seal } from '../people/seal.js';

/** How long a person may take at the provider, in seconds. */
export const visitSeconds = 900;
/** How long ago a sign-in at the provider may be, in seconds: what is approved afterwards needs a recent one. */
const recentSeconds = 240;
/** How long the provider may take to answer, in seconds. */
const answerSeconds = 10;
const purpose = 'sign-in by a provider';

const visit = z.object({
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  next: z.string().optional(),
  until: z.number(),
});

/** A browser on its way to the provider. */
export interface Departure {
  readonly url: URL;
  /** For a cookie of this browser, until it comes back. */
  readonly ticket: string;
}

/** A person who came back. */
export interface Arrival {
  readonly account: Account;
  /** Where the person wanted to go. */
  readonly next: string | undefined;
}

/**
 * Sign-in by a provider of the operator's (OpenID Connect Core, 3.1): code and PKCE, state and nonce, all bound to the
 * browser by a sealed cookie. The user's id is what the gateway makes of that provider's tokens.
 */
@Injectable()
export class RelyingParty {
  private discovered: Promise<client.Configuration> | undefined;

  constructor(
    @Inject(CONFIG) private readonly config: AccountConfig,
    @Inject(LOG) private readonly log: Log,
    private readonly accounts: Accounts,
    private readonly sealing: Seal,
  ) {}

  /** The host of the provider by which people sign in, where there is one. */
  get host(): string | undefined {
    const { SIGN_IN_ISSUER } = this.config;
    return SIGN_IN_ISSUER === undefined ? undefined : new URL(SIGN_IN_ISSUER).host;
  }

  /** @throws Refusal `unavailable` where the provider does not answer. */
  async depart(next: string | undefined): Promise<Departure> {
    const provider = await this.provider();
    const [state, nonce, verifier] = [client.randomState(), client.randomNonce(), client.randomPKCECodeVerifier()];
    const until = Date.now() + visitSeconds * 1_000;
    const ticket = this.sealing.seal(purpose, JSON.stringify({ state, nonce, verifier, next, until }));
    const url = client.buildAuthorizationUrl(provider, {
      redirect_uri: this.callback,
      scope: 'openid',
      state,
      nonce,
      max_age: String(recentSeconds),
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    });
    return { url, ticket: ticket.toString('base64url') };
  }

  /**
   * @param query of the URL to which the provider sent the browser.
   * @throws Refusal `credentials` where the provider's answer proves nothing, is not for this browser, or the account is
   *   disabled; `unavailable` where the provider does not answer.
   */
  async arrive(query: string, ticket: string | undefined): Promise<Arrival> {
    const { state, nonce, verifier, next, until } = this.opened(ticket);
    if (until < Date.now()) throw new Refusal('credentials');
    const provider = await this.provider();
    const url = new URL(`${this.callback}?${query}`);
    const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, maxAge: recentSeconds };
    const tokens = await client
      .authorizationCodeGrant(provider, url, { ...checks, idTokenExpected: true })
      .catch((error: unknown) => {
        this.log.info({ reason: (error as { code?: string }).code }, 'a sign-in by the provider failed');
        throw new Refusal('credentials');
      });
    const { iss, sub } = tokens.claims() as client.IDToken;
    const issuer = issuerAliases(this.config.AUTH_ISSUER_ALIASES).get(iss) ?? iss;
    const account = await this.accounts.ofProvider(issuer, sub, userId(issuer, sub, this.config.AUTH_OWN_ISSUER));
    if (account.disabled) throw new Refusal('credentials');
    return { account, next };
  }

  private get callback(): string {
    return `${this.config.PUBLIC_URL}/sign-in/provider/callback`;
  }

  private opened(ticket = ''): z.output<typeof visit> {
    const text = /^[\w-]{1,4000}$/.test(ticket)
      ? this.sealing.open(purpose, Buffer.from(ticket, 'base64url'))
      : undefined;
    if (text === undefined) throw new Refusal('credentials');
    return visit.parse(JSON.parse(text));
  }

  /** What the provider says of itself, asked for once; after a failure anew. */
  private async provider(): Promise<client.Configuration> {
    const { SIGN_IN_ISSUER = '', SIGN_IN_CLIENT_ID, SIGN_IN_CLIENT_SECRET } = this.config;
    const issuer = new URL(SIGN_IN_ISSUER);
    const proof = SIGN_IN_CLIENT_SECRET === undefined ? client.None() : undefined;
    const execute = issuer.protocol === 'http:' ? [client.allowInsecureRequests] : [];
    const options = { execute, timeout: answerSeconds };
    this.discovered ??= client.discovery(issuer, SIGN_IN_CLIENT_ID, SIGN_IN_CLIENT_SECRET, proof, options);
    try {
      return await this.discovered;
    } catch (error) {
      this.discovered = undefined;
      this.log.warn({ err: error }, 'the provider by which people sign in does not answer');
      throw new Refusal('unavailable');
    }
  }
}
