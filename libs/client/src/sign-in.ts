import { ApiError } from './errors.js';
import { discoverIssuer, type Issuer, OAuthError, postForm, registerClient } from './issuer.js';
import { randomUuid } from './random-uuid.js';
import { pause } from './request-sender.js';
import type { Store, Value } from './store.js';

/** Options of {@link SignIn}. */
export interface SignInOptions {
  /** Base URL of the API. Its metadata names the issuer (RFC 9728). */
  api: string;
  /** Store for the tokens, such as the SyncClient's. Code that can read it can use the tokens. */
  store: Store;
  /** Name of the app on the consent page. */
  clientName: string;
  /** OAuth scopes, separated by spaces. Default: read, write and stay signed in. */
  scope?: string;
  /** Client id that the operator registered for the app. Without it, the app registers itself. */
  clientId?: string;
  /** Default: the platform's `fetch`. */
  fetch?: typeof globalThis.fetch;
  /** Returns the device's time in milliseconds since 1970. Default: `Date.now`. */
  clock?: () => number;
}

/** Data that a user needs to authorize a device (RFC 8628, 3.2). */
export interface DeviceCode {
  /** Code that the user enters at `verification_uri`, or compares there. */
  user_code: string;
  verification_uri: string;
  /** URL that includes the code, for a QR code. */
  verification_uri_complete?: string;
}

interface Tokens {
  access: string;
  refresh: string | undefined;
  /** Device time in milliseconds at which the access token expires. */
  expires: number;
  clientId: string;
}

interface TokenResponse {
  access_token: string;
  refresh_token?: string;
  expires_in?: number;
}

/** A sign-in that waits for its redirect. */
interface PendingSignIn {
  state: string;
  verifier: string;
  redirectUri: string;
  clientId: string;
}

const tokensKey = 'sign-in/tokens';
const pendingKey = 'sign-in/pending';
const registrationKeyPrefix = 'sign-in/registration/';

const deviceGrantType = 'urn:ietf:params:oauth:grant-type:device_code';
const defaultScope = 'openid offline_access read:subscriptions write:subscriptions';

/**
 * Matches OAuth errors that end a sign-in: the grant was revoked or expired, or the issuer removed
 * the client. Any other error can come from a proxy and keeps the tokens.
 */
const endOfSignInPattern = /^(?:invalid_grant|invalid_client|unauthorized_client)$/;

/** Milliseconds before its expiry at which a token is renewed. */
const renewalMargin = 30_000;

/**
 * Signs a user in on this device (docs/reference/sign-in.md), by code and PKCE in a browser or by
 * the device flow. Tabs and processes with the same store share the tokens. Only one of them renews
 * the tokens at a time, because a refresh token works only once.
 */
export class SignIn {
  private cachedIssuer: Promise<Issuer> | undefined;
  private readonly now: () => number;
  private readonly fetch: typeof globalThis.fetch;

  constructor(private readonly options: SignInOptions) {
    this.now = options.clock ?? Date.now;
    this.fetch = options.fetch ?? ((input, init) => globalThis.fetch(input, init));
  }

  /**
   * Returns an access token, for {@link createApi}. Renews a token that expires soon or is
   * `rejected`.
   *
   * @throws ApiError `unauthorized` if the user has to sign in.
   */
  readonly token = async ({ rejected }: { rejected?: string } = {}): Promise<string> => {
    const isValid = (tokens: Tokens) =>
      tokens.access !== rejected && tokens.expires - renewalMargin > this.now();
    const stored = await this.#readTokens();
    if (isValid(stored)) return stored.access;
    return this.options.store.withLock('token', async () => {
      // Reads the tokens again: another caller can have renewed them during the wait.
      const current = await this.#readTokens();
      return isValid(current) ? current.access : this.#renewToken(current);
    });
  };

  /** Returns true if the store has tokens, even if the server has revoked them. */
  async isSignedIn(): Promise<boolean> {
    return (await this.options.store.get(tokensKey)) !== undefined;
  }

  /**
   * Starts a sign-in in a browser. Needs `crypto.subtle`, which browsers have on https and
   * localhost only.
   *
   * @param redirectUri a page of the app, `http://127.0.0.1:PORT/…`, or a URL with a private scheme
   * that contains a dot, such as `org.example.player:/signed-in`.
   * @returns the URL to open.
   * @throws ApiError, OAuthError
   */
  async begin(redirectUri: string): Promise<string> {
    const issuer = await this.#readIssuer();
    // Registers a loopback address without its port. The port changes with each sign-in, and the
    // issuer ignores it (RFC 8252, 7.3).
    const registeredUri = redirectUri.replace(/^(http:\/\/127\.0\.0\.1):\d+/, '$1');
    const clientId = await this.#ensureClientId(issuer, registeredUri, {
      application_type: registeredUri.startsWith('https:') ? 'web' : 'native',
      redirect_uris: [registeredUri],
      grant_types: ['authorization_code', 'refresh_token'],
    });
    const [state, verifier] = [randomUuid(), randomUuid() + randomUuid()];
    const pending: PendingSignIn = { state, verifier, redirectUri, clientId };
    await this.#putValue(pendingKey, pending);
    const authorizationUrl = new URL(issuer.authorization_endpoint);
    const parameters = {
      response_type: 'code',
      client_id: clientId,
      redirect_uri: redirectUri,
      scope: this.options.scope ?? defaultScope,
      resource: issuer.resource,
      code_challenge: await computeChallenge(verifier),
      code_challenge_method: 'S256',
      state,
    };
    for (const [name, value] of Object.entries(parameters))
      authorizationUrl.searchParams.set(name, value);
    return authorizationUrl.href;
  }

  /**
   * Completes a sign-in that {@link begin} started.
   *
   * @param url the URL of the redirect, with its query.
   * @throws OAuthError if the user denied access or the redirect belongs to no pending sign-in.
   * @throws ApiError if a request fails.
   */
  async finish(url: string): Promise<void> {
    const { searchParams: parameters } = new URL(url);
    const pending = (await this.options.store.get(pendingKey)) as PendingSignIn | undefined;
    const issuer = await this.#readIssuer();
    // Rejects forged redirects (login CSRF): `state` and `iss` (RFC 9207) must match.
    if (
      !pending ||
      parameters.get('state') !== pending.state ||
      (parameters.get('iss') ?? issuer.issuer) !== issuer.issuer
    )
      throw new OAuthError('invalid_state', 'The redirect matches no pending sign-in: start again');
    await this.#putValue(pendingKey, undefined);
    const error = parameters.get('error');
    if (error !== null) throw new OAuthError(error, parameters.get('error_description') ?? error);
    const { clientId: client_id, redirectUri: redirect_uri, verifier: code_verifier } = pending;
    const code = parameters.get('code') ?? '';
    const form = { grant_type: 'authorization_code', code, redirect_uri, client_id, code_verifier };
    await this.#storeTokens(await this.#requestTokens(form), client_id);
  }

  /**
   * Signs in on a device without a browser (RFC 8628).
   *
   * @param showCode shows the user the URL and the code.
   * @throws OAuthError `access_denied` or `expired_token`.
   * @throws ApiError if a request fails or the signal is aborted.
   */
  async device(
    showCode: (code: DeviceCode) => void,
    { signal }: { signal?: AbortSignal } = {},
  ): Promise<void> {
    const issuer = await this.#readIssuer();
    const endpoint = issuer.device_authorization_endpoint;
    if (endpoint === undefined)
      throw new ApiError('unexpected', 'The server does not support sign-in by device code');
    const client_id = await this.#ensureClientId(issuer, 'device', {
      grant_types: [deviceGrantType, 'refresh_token'],
    });
    const { scope = defaultScope } = this.options;
    type DeviceResponse = DeviceCode & { device_code: string; interval?: number };
    const deviceResponse = await postForm<DeviceResponse>(this.fetch, endpoint, {
      client_id,
      scope,
      resource: issuer.resource,
    });
    showCode(deviceResponse);
    const form = {
      grant_type: deviceGrantType,
      device_code: deviceResponse.device_code,
      client_id,
    };
    for (let { interval = 5 } = deviceResponse; ;) {
      await pause(interval * 1_000, signal);
      try {
        return await this.#storeTokens(await this.#requestTokens(form), client_id);
      } catch (error) {
        if (error instanceof OAuthError && error.error === 'slow_down') interval += 5;
        else if (error instanceof ApiError && error.isTransient) interval += 1;
        else if (!(error instanceof OAuthError) || error.error !== 'authorization_pending')
          throw error;
      }
    }
  }

  /** Removes the stored tokens, then revokes them. @throws ApiError if the revocation fails. */
  async signOut(): Promise<void> {
    const { store } = this.options;
    // Waits for a running renewal, which would store new tokens after the removal.
    const tokens = await store.withLock('token', async () => {
      const stored = (await store.get(tokensKey)) as Tokens | undefined;
      await this.#putValue(tokensKey, undefined);
      return stored;
    });
    if (tokens?.refresh === undefined) return;
    const { revocation_endpoint: endpoint } = await this.#readIssuer();
    if (endpoint !== undefined)
      await postForm(this.fetch, endpoint, { token: tokens.refresh, client_id: tokens.clientId });
  }

  #putValue(key: string, value: Value | undefined): Promise<void> {
    return this.options.store.write(new Map([[key, value]]));
  }

  async #requestTokens(form: Record<string, string>): Promise<TokenResponse> {
    const { token_endpoint } = await this.#readIssuer();
    return postForm<TokenResponse>(this.fetch, token_endpoint, form);
  }

  async #readTokens(): Promise<Tokens> {
    const tokens = (await this.options.store.get(tokensKey)) as Tokens | undefined;
    if (!tokens) throw new ApiError('unauthorized', 'The user is not signed in');
    return tokens;
  }

  async #renewToken({ refresh, clientId: client_id }: Tokens): Promise<string> {
    try {
      if (refresh === undefined) throw new OAuthError('invalid_grant', 'No refresh token');
      const form = { grant_type: 'refresh_token', refresh_token: refresh, client_id };
      const response = await this.#requestTokens(form);
      await this.#storeTokens({ refresh_token: refresh, ...response }, client_id);
      return response.access_token;
    } catch (error) {
      if (!(error instanceof OAuthError)) throw error;
      if (!endOfSignInPattern.test(error.error))
        throw new ApiError('unexpected', error.message, { cause: error });
      await this.#putValue(tokensKey, undefined);
      throw new ApiError('unauthorized', 'The access has ended: sign in again', {
        cause: error,
      });
    }
  }

  /**
   * Stores tokens. Call the method before the first use of new tokens. After that use, the server
   * treats the previous refresh token as stolen.
   */
  #storeTokens(response: TokenResponse, clientId: string): Promise<void> {
    const { access_token: access, refresh_token: refresh, expires_in: seconds = 600 } = response;
    const tokens: Tokens = { access, refresh, expires: this.now() + seconds * 1_000, clientId };
    return this.#putValue(tokensKey, tokens);
  }

  /** Returns the app's client id. Registers the app if the id is absent or no longer registered. */
  async #ensureClientId(issuer: Issuer, purpose: string, metadata: object): Promise<string> {
    if (this.options.clientId !== undefined) return this.options.clientId;
    const key = `${registrationKeyPrefix}${encodeURIComponent(`${issuer.issuer} ${purpose}`)}`;
    const storedClientId = (await this.options.store.get(key)) as string | undefined;
    if (storedClientId !== undefined && (await this.#isRegistered(storedClientId)))
      return storedClientId;
    const newClientId = await registerClient(this.fetch, issuer, {
      client_name: this.options.clientName,
      ...metadata,
    });
    await this.#putValue(key, newClientId);
    return newClientId;
  }

  /**
   * Returns true if the issuer has the client id. The check is a request with an invalid refresh
   * token, because the authorization page reports a removed client only to the user.
   */
  async #isRegistered(client_id: string): Promise<boolean> {
    const form = { grant_type: 'refresh_token', refresh_token: 'none', client_id };
    const outcome: unknown = await this.#requestTokens(form).catch((failure: unknown) => failure);
    if (outcome instanceof ApiError) throw outcome;
    return !(outcome instanceof OAuthError && outcome.error === 'invalid_client');
  }

  async #readIssuer(): Promise<Issuer> {
    this.cachedIssuer ??= discoverIssuer(this.fetch, this.options.api);
    try {
      return await this.cachedIssuer;
    } catch (error) {
      this.cachedIssuer = undefined;
      throw error;
    }
  }
}

/** Returns the code challenge of a verifier (RFC 7636, 4.2). */
async function computeChallenge(verifier: string): Promise<string> {
  const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier));
  const base64 = btoa(String.fromCharCode(...new Uint8Array(hash)));
  return base64.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}
