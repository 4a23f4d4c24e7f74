import * as client from 'openid-client';
import { apiUrl, type IssuerWorld } from './issuer.world.js';

export const redirectUri = 'com.example.app:/callback';
export const insecure = { execute: [client.allowInsecureRequests] };

/** All that an app may ask for. */
export const wholeScope = 'openid offline_access read:subscriptions write:subscriptions';

/** An app that registered by itself. */
export async function registeredApp(
  world: IssuerWorld,
  metadata: Partial<client.ClientMetadata> = {},
): Promise<client.Configuration> {
  return client.dynamicClientRegistration(
    new URL(world.url),
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

/** An authorization request, with what the app keeps of it. */
export interface Authorization {
  readonly url: URL;
  readonly checks: { pkceCodeVerifier: string; expectedState: string };
}

export async function authorization(
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

/** An app that a person has signed in to. */
export interface SignedIn {
  readonly accountId: string;
  readonly app: client.Configuration;
  readonly tokens: Awaited<ReturnType<typeof client.authorizationCodeGrant>>;
  readonly refreshToken: string;
}

/** An app that a person has allowed: the answer with the code, and what the app keeps to fetch tokens by it. */
export async function allowedApp(
  world: IssuerWorld,
  {
    accountId,
    app,
    parameters,
  }: Partial<Pick<SignedIn, 'accountId' | 'app'>> & { parameters?: Record<string, string> } = {},
) {
  const person = accountId ?? (await world.account());
  const config = app ?? (await registeredApp(world));
  const { url, checks } = await authorization(config, parameters);
  return { accountId: person, app: config, answer: await world.browser(person).allow(url), checks };
}

/** The whole way of an app: registration, code and PKCE, the person's consent, tokens. */
export async function signIn(
  world: IssuerWorld,
  options: Parameters<typeof allowedApp>[1] = {},
): Promise<SignedIn> {
  const { accountId, app, answer, checks } = await allowedApp(world, options);
  const tokens = await client.authorizationCodeGrant(app, answer, checks);
  return { accountId, app, tokens, refreshToken: tokens.refresh_token ?? '' };
}

/** The error of OAuth that a call ends with. */
export async function errorOf(call: Promise<unknown>): Promise<string> {
  try {
    await call;
  } catch (error) {
    return (error as { error?: string }).error ?? String(error);
  }
  return 'no error';
}
