import { ApiError } from './errors.js';
import { newKey } from './key.js';
import { discover, type Issuer, OAuthError, post, register } from './issuer.js';
import { pause } from './sending.js';
import type { Store } from './store.js';

export interface SignInOptions {
  /** Base URL of the API, from which the issuer is discovered. */
  api: string;
  /** Stores the tokens. It can be the SyncClient's store. A reader of the store is signed in. */
  store: Store;
  /** Name of the app on the consent page. */
  clientName: string;
  /** Default: read, write and stay signed in. */
  scope?: string;
  /** Id of an app that the operator registered. Other apps register automatically. */
  clientId?: string;
  fetch?: typeof globalThis.fetch;
  clock?: () => number;
}

/** Data that a person needs to authorize a device (RFC 8628). */
export interface DeviceCode {
  /** Code to compare or to type. */
  user_code: string;
  verification_uri: string;
  /** URL that includes the code, for a QR code. */
  verification_uri_complete?: string;
}

interface Tokens {
  access: string;
  refresh: string | undefined;
  /** Device time in milliseconds. */
  expires: number;
  clientId: string;
}

interface TokenAnswer {
  access_token: string;
  refresh_token?: string;
  expires_in?: number;
}

interface Begun {
  state: string;
  verifier: string;
  redirectUri: string;
  clientId: string;
}

const tokensKey = 'sign-in/tokens';
const begunKey = 'sign-in/begun';
const registrationKey = 'sign-in/registration/';

const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code';
const wholeScope = 'openid offline_access read:subscriptions write:subscriptions';

/** Milliseconds before its expiry at which a token is renewed. */
const margin = 30_000;

/**
 * A person's sign-in on this device (docs/reference/sign-in.md): by code and PKCE in a browser, or
 * by the device flow. Tabs and processes with the same store share it. They renew tokens one at a
 * time, as a refresh token works only once.
 */
export class SignIn {
  private issuer: Promise<Issuer> | undefined;
  private readonly clock: () => number;
  private readonly fetch: typeof globalThis.fetch;

  constructor(private readonly options: SignInOptions) {
    this.clock = options.clock ?? Date.now;
    this.fetch = options.fetch ?? ((input, init) => globalThis.fetch(input, init));
  }

  /** Returns the access token, for {@link createApi}. @throws ApiError `unauthorized` */
  readonly token = async ({ refused }: { refused?: string } = {}): Promise<string> => {
    const isGood = (tokens: Tokens) =>
      tokens.access !== refused && tokens.expires - margin > this.clock();
    const kept = await this.kept();
    if (isGood(kept)) return kept.access;
    return this.options.store.alone('token', async () => {
      // Another caller can have renewed the token during the wait.
      const current = await this.kept();
      return isGood(current) ? current.access : this.renewed(current);
    });
  };

  async isSignedIn(): Promise<boolean> {
    return (await this.options.store.get(tokensKey)) !== undefined;
  }

  /**
   * Starts a sign-in in a browser.
   *
   * @param redirectUri a page of the app, a private scheme with a dot in it, or
   * `http://127.0.0.1:PORT/…`.
   * @returns the URL to open. Needs `crypto.subtle`, which browsers have on https and localhost
   * only.
   */
  async begin(redirectUri: string): Promise<string> {
    const issuer = await this.found();
    // The issuer ignores the port of a loopback address, which changes.
    const registered = redirectUri.replace(/^(http:\/\/127\.0\.0\.1):\d+/, '$1');
    const clientId = await this.knownClient(issuer, registered, {
      application_type: registered.startsWith('https:') ? 'web' : 'native',
      redirect_uris: [registered],
      grant_types: ['authorization_code', 'refresh_token'],
    });
    const [state, verifier] = [newKey(), newKey() + newKey()];
    const begun: Begun = { state, verifier, redirectUri, clientId };
    await this.options.store.write(new Map([[begunKey, begun]]));
    const url = new URL(issuer.authorization_endpoint);
    const query = {
      response_type: 'code',
      client_id: clientId,
      redirect_uri: redirectUri,
      scope: this.options.scope ?? wholeScope,
      resource: issuer.resource,
      code_challenge: await challengeOf(verifier),
      code_challenge_method: 'S256',
      state,
    };
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    return url.href;
  }

  /**
   * Completes a sign-in that {@link begin} started.
   *
   * @param url the URL of the redirect, with its query.
   * @throws OAuthError if the person denied access.
   * @throws ApiError
   */
  async finish(url: string): Promise<void> {
    const { searchParams: answer } = new URL(url);
    const begun = (await this.options.store.get(begunKey)) as Begun | undefined;
    const issuer = await this.found();
    // Rejects forged redirects (login CSRF).
    if (
      !begun ||
      answer.get('state') !== begun.state ||
      (answer.get('iss') ?? issuer.issuer) !== issuer.issuer
    )
      throw new OAuthError('invalid_state', 'This is no answer to what was asked');
    await this.options.store.write(new Map([[begunKey, undefined]]));
    const error = answer.get('error');
    if (error !== null) throw new OAuthError(error, answer.get('error_description') ?? error);
    const { clientId: client_id, redirectUri: redirect_uri, verifier: code_verifier } = begun;
    const code = answer.get('code') ?? '';
    const form = { grant_type: 'authorization_code', code, redirect_uri, client_id, code_verifier };
    await this.keep(await post<TokenAnswer>(this.fetch, issuer.token_endpoint, form), client_id);
  }

  /**
   * Signs in on a device without a browser (RFC 8628).
   *
   * @param show shows the person the URL and the code.
   * @throws OAuthError `access_denied`, `expired_token`.
   * @throws ApiError
   */
  async device(
    show: (code: DeviceCode) => void,
    { signal }: { signal?: AbortSignal } = {},
  ): Promise<void> {
    const issuer = await this.found();
    const endpoint = issuer.device_authorization_endpoint;
    if (endpoint === undefined) throw new ApiError('unexpected', 'The server takes no devices');
    const client_id = await this.knownClient(issuer, 'device', {
      grant_types: [deviceGrant, 'refresh_token'],
    });
    const { scope = wholeScope } = this.options;
    type Answer = DeviceCode & { device_code: string; interval?: number };
    const begun = await post<Answer>(this.fetch, endpoint, {
      client_id,
      scope,
      resource: issuer.resource,
    });
    show(begun);
    const form = { grant_type: deviceGrant, device_code: begun.device_code, client_id };
    for (let { interval = 5 } = begun; ;) {
      await pause(interval * 1_000, signal);
      try {
        return await this.keep(
          await post<TokenAnswer>(this.fetch, issuer.token_endpoint, form),
          client_id,
        );
      } catch (error) {
        if (error instanceof OAuthError && error.error === 'slow_down') interval += 5;
        else if (error instanceof ApiError && error.isPassing) interval += 1;
        else if (!(error instanceof OAuthError) || error.error !== 'authorization_pending')
          throw error;
      }
    }
  }

  /** Ends this device's access, and revokes it at the server. */
  async signOut(): Promise<void> {
    const tokens = (await this.options.store.get(tokensKey)) as Tokens | undefined;
    await this.options.store.write(new Map([[tokensKey, undefined]]));
    if (tokens?.refresh === undefined) return;
    const { revocation_endpoint: endpoint } = await this.found();
    if (endpoint !== undefined)
      await post(this.fetch, endpoint, { token: tokens.refresh, client_id: tokens.clientId });
  }

  private async kept(): Promise<Tokens> {
    const tokens = (await this.options.store.get(tokensKey)) as Tokens | undefined;
    if (!tokens) throw new ApiError('unauthorized', 'Nobody is signed in');
    return tokens;
  }

  private async renewed({ refresh, clientId: client_id }: Tokens): Promise<string> {
    const issuer = await this.found();
    try {
      if (refresh === undefined)
        throw new OAuthError('invalid_grant', 'The access can not be renewed');
      const form = { grant_type: 'refresh_token', refresh_token: refresh, client_id };
      const answer = await post<TokenAnswer>(this.fetch, issuer.token_endpoint, form);
      await this.keep({ refresh_token: refresh, ...answer }, client_id);
      return answer.access_token;
    } catch (error) {
      if (!(error instanceof OAuthError)) throw error;
      // The grant was revoked or expired, or the client is gone: the person has to sign in again.
      await this.options.store.write(new Map([[tokensKey, undefined]]));
      throw new ApiError('unauthorized', 'The access has ended', { cause: error });
    }
  }

  /** Stores tokens before their use: the server then treats the former refresh token as stolen. */
  private keep(answer: TokenAnswer, clientId: string): Promise<void> {
    const { access_token: access, refresh_token: refresh, expires_in: seconds = 600 } = answer;
    const tokens: Tokens = { access, refresh, expires: this.clock() + seconds * 1_000, clientId };
    return this.options.store.write(new Map([[tokensKey, tokens]]));
  }

  /** Returns the app's client id. The issuer removes unused ids; the app then registers again. */
  private async knownClient(issuer: Issuer, purpose: string, metadata: object): Promise<string> {
    if (this.options.clientId !== undefined) return this.options.clientId;
    const key = `${registrationKey}${encodeURIComponent(`${issuer.issuer} ${purpose}`)}`;
    const kept = (await this.options.store.get(key)) as string | undefined;
    if (kept !== undefined && (await this.isKnown(issuer, kept))) return kept;
    const id = await register(this.fetch, issuer, {
      client_name: this.options.clientName,
      ...metadata,
    });
    await this.options.store.write(new Map([[key, id]]));
    return id;
  }

  /**
   * Returns true if the issuer has the client id. It sends an invalid refresh token, because the
   * authorization page reports an unknown client only to the person.
   */
  private async isKnown(issuer: Issuer, client_id: string): Promise<boolean> {
    const form = { grant_type: 'refresh_token', refresh_token: 'none', client_id };
    const error: unknown = await post(this.fetch, issuer.token_endpoint, form).catch(
      (failure: unknown) => failure,
    );
    if (error instanceof ApiError) throw error;
    return !(error instanceof OAuthError && error.error === 'invalid_client');
  }

  private async found(): Promise<Issuer> {
    this.issuer ??= discover(this.fetch, this.options.api);
    try {
      return await this.issuer;
    } catch (error) {
      this.issuer = undefined;
      throw error;
    }
  }
}

/** Returns the code challenge of a verifier (RFC 7636, 4.2). */
async function challengeOf(verifier: string): Promise<string> {
  const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier));
  const base64 = btoa(String.fromCharCode(...new Uint8Array(hash)));
  return base64.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}
