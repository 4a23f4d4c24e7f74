import * as client from 'openid-client';
import { apiUrl, type IssuerFixture } from './issuer.fixture.js';

/** Redirect URI of registered apps. */
export const redirectUri = 'com.example.app:/callback';
/** Option that allows `http` for the issuer. */
export const insecure = { execute: [client.allowInsecureRequests] };

/** All scopes that an app can request. */
export const wholeScope = 'openid offline_access read:subscriptions write:subscriptions';

/** Registers an app (RFC 7591). */
export async function registerApp(
  fixture: IssuerFixture,
  metadata: Partial<client.ClientMetadata> = {},
): Promise<client.Configuration> {
  return client.dynamicClientRegistration(
    new URL(fixture.url),
    {
      client_name: 'An app',
      redirect_uris: [redirectUri],
      token_endpoint_auth_method: 'none',
      ...metadata,
    },
    client.None(),
    insecure,
  );
}

/** Authorization request with the values that the app keeps to check the response. */
export interface Authorization {
  readonly url: URL;
  readonly checks: { pkceCodeVerifier: string; expectedState: string };
}

/** Creates an authorization request with PKCE and state. */
export async function authorizationRequest(
  app: client.Configuration,
  parameters: Record<string, string> = {},
): Promise<Authorization> {
  const pkceCodeVerifier = client.randomPKCECodeVerifier();
  const expectedState = client.randomState();
  const url = client.buildAuthorizationUrl(app, {
    redirect_uri: redirectUri,
    scope: wholeScope,
    resource: apiUrl,
    code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: 'S256',
    state: expectedState,
    ...parameters,
  });
  return { url, checks: { pkceCodeVerifier, expectedState } };
}

/** App with the tokens of a user. */
export interface SignedIn {
  readonly accountId: string;
  readonly app: client.Configuration;
  readonly tokens: Awaited<ReturnType<typeof client.authorizationCodeGrant>>;
  readonly refreshToken: string;
}

/** Lets a user allow an app. @returns the redirect URL with the code, and values to check it. */
export async function allowApp(
  fixture: IssuerFixture,
  {
    accountId,
    app,
    parameters,
  }: Partial<Pick<SignedIn, 'accountId' | 'app'>> & { parameters?: Record<string, string> } = {},
) {
  const person = accountId ?? (await fixture.account());
  const config = app ?? (await registerApp(fixture));
  const { url, checks } = await authorizationRequest(config, parameters);
  return {
    accountId: person,
    app: config,
    answer: await fixture.browser(person).allow(url),
    checks,
  };
}

/** Signs a user in to an app: registration, code with PKCE, consent, tokens. */
export async function signIn(
  fixture: IssuerFixture,
  options: Parameters<typeof allowApp>[1] = {},
): Promise<SignedIn> {
  const { accountId, app, answer, checks } = await allowApp(fixture, options);
  const tokens = await client.authorizationCodeGrant(app, answer, checks);
  return { accountId, app, tokens, refreshToken: tokens.refresh_token ?? '' };
}

/** Returns the OAuth error of a call. */
export async function errorOf(call: Promise<unknown>): Promise<string> {
  try {
    await call;
  } catch (error) {
    return (error as { error?: string }).error ?? String(error);
  }
  return 'no error';
}
