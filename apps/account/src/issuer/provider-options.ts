import type { IncomingMessage } from 'node:http';
import { parseUrl, scopes as apiScopes } from '#contracts';
import type { AccountConfig } from '../account.config.js';
import {
  type Adapter,
  type Configuration,
  errors,
  interactionPolicy,
  type KoaContextWithOIDC,
} from 'oidc-provider';
import { firstPartyClients } from './clients.js';
import { requestAddress } from './request-address.js';
import type { SigningKey } from './signing-keys.js';

const minuteSeconds = 60;
const daySeconds = 86_400;

/** Lifetimes of tokens, codes, requests and grants, in seconds. */
const lifetimes = {
  accessToken: 10 * minuteSeconds,
  code: minuteSeconds,
  /** Pending authorization request of a browser or device. */
  request: 15 * minuteSeconds,
  /** Each use of a refresh token replaces it with a new token of the full lifetime. */
  refreshToken: 90 * daySeconds,
  /** Grant without refresh tokens. Each refresh token extends the grant (oidc-adapter.ts). */
  grant: daySeconds,
} as const;

/** Injection token of {@link IssuerDependencies.errorPage}, which the pages provide. */
export const ERROR_PAGE = Symbol('error page');

/** OAuth error of an authorization request, which {@link IssuerDependencies.errorPage} shows. */
export interface PageError {
  readonly error: string;
  readonly error_description?: string | undefined;
  /** Redirect URI of the authorization request; undefined if the client did not register it. */
  readonly redirectUri?: string | undefined;
}

/** Dependencies of {@link issuerConfiguration}. */
export interface IssuerDependencies {
  readonly config: AccountConfig;
  readonly key: SigningKey;
  adapter(model: string): Adapter;
  /** Returns true if the account exists and is not disabled. */
  isActive(accountId: string): Promise<boolean>;
  readonly errorPage: (request: IncomingMessage, error: PageError) => string;
}

/**
 * Returns the issuer's cookie names. Each name contains `podcast_sync`, because all ports of a host
 * share cookies (RFC 6265, 8.5).
 */
export function cookieNames({
  PUBLIC_URL,
}: AccountConfig): Record<'session' | 'request' | 'resume', string> {
  const prefix = PUBLIC_URL.startsWith('https:') ? '__Secure-podcast_sync_' : 'podcast_sync_';
  return { session: `${prefix}issuer`, request: `${prefix}request`, resume: `${prefix}resume` };
}

function createFeatures(config: AccountConfig): Configuration['features'] {
  return {
    devInteractions: { enabled: false },
    dPoP: { enabled: false },
    pushedAuthorizationRequests: { enabled: false },
    rpInitiatedLogout: { enabled: false },
    userinfo: { enabled: false },
    revocation: {
      enabled: true,
      allowedPolicy: (_ctx, client, token) => token.clientId === client.clientId,
    },
    deviceFlow: { enabled: true, deviceInfo: () => ({ address: requestAddress() }) },
    registration: { enabled: true, issueRegistrationAccessToken: false },
    resourceIndicators: {
      enabled: true,
      defaultResource: (_ctx, _client, oneOf) => oneOf?.[0] ?? config.API_URLS[0],
      useGrantedResource: () => true,
      getResourceServerInfo: (_ctx, resource) => apiResource(config, resource),
    },
  };
}

/** Lifetimes of the models of oidc-provider, in seconds. */
const ttlByModel = {
  AccessToken: lifetimes.accessToken,
  AuthorizationCode: lifetimes.code,
  DeviceCode: lifetimes.request,
  Interaction: lifetimes.request,
  IdToken: lifetimes.accessToken,
  RefreshToken: lifetimes.refreshToken,
  Grant: lifetimes.grant,
  Session: minuteSeconds,
};

/** Creates the configuration of oidc-provider. docs/design/adr/0021 explains the settings. */
export function issuerConfiguration({
  config,
  key,
  adapter,
  isActive,
  errorPage,
}: IssuerDependencies): Configuration {
  const isSecure = config.PUBLIC_URL.startsWith('https:');
  const cookie = { httpOnly: true, sameSite: 'lax', secure: isSecure, overwrite: true } as const;
  const cookies = cookieNames(config);
  return {
    adapter: (model: string) => adapter(model),
    clients: firstPartyClients.map((client) => ({
      ...client,
      grant_types: [...(client.grant_types ?? [])],
    })),
    jwks: { keys: [key] as never },
    // The account session identifies the user, so the issuer's session ends with the request.
    cookies: {
      names: { session: cookies.session, interaction: cookies.request, resume: cookies.resume },
      long: cookie,
      short: cookie,
    },
    features: createFeatures(config),
    // Scopes of the issuer itself. `getResourceServerInfo` returns the scopes of the API.
    scopes: ['openid', 'offline_access'],
    claims: { openid: ['sub'], auth_time: null, iss: null },
    responseTypes: ['code'],
    clientAuthMethods: ['none'],
    clientDefaults: {
      token_endpoint_auth_method: 'none',
      id_token_signed_response_alg: 'EdDSA',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
    },
    enabledJWA: { idTokenSigningAlgValues: ['EdDSA'] },
    pkce: { required: () => true },
    ttl: ttlByModel,
    issueRefreshToken: (_ctx, client) => client.grantTypeAllowed('refresh_token'),
    rotateRefreshToken: () => true,
    expiresWithSession: () => false,
    revokeGrantPolicy: () => true,
    extraTokenClaims: (_ctx, token) =>
      'grantId' in token && token.grantId ? { gid: token.grantId } : undefined,
    // The API allows everything to a token without the claim `scope`, so the claim is always set.
    formats: { customizers: { jwt: (_ctx, _token, parts) => void (parts.payload.scope ??= '') } },
    findAccount: async (_ctx, sub) => {
      if (!(await isActive(sub))) return undefined;
      return { accountId: sub, claims: () => ({ sub }) };
    },
    clientBasedCORS: (_ctx, origin, client) =>
      client.redirectUris?.some((uri) => parseUrl(uri)?.origin === origin) ?? false,
    interactions: {
      policy: interactionPolicy.base(),
      url: (_ctx, { uid }) => `/interaction/${uid}`,
    },
    renderError: (ctx, pageError) => renderIssuerError(ctx, pageError, errorPage),
  };
}

/**
 * Returns scopes, audience and token format of the API that a resource indicator names (RFC 8707).
 *
 * @throws InvalidTarget if the resource is not in `API_URLS`.
 */
export function apiResource({ API_URLS, API_AUDIENCE }: AccountConfig, resource: string) {
  const isRequestedApi = (url: string) =>
    removeTrailingSlash(url) === removeTrailingSlash(resource);
  if (!API_URLS.some(isRequestedApi)) throw new errors.InvalidTarget();
  return {
    scope: apiScopes.join(' '),
    audience: API_AUDIENCE,
    accessTokenFormat: 'jwt' as const,
    accessTokenTTL: lifetimes.accessToken,
    jwt: { sign: { alg: 'EdDSA' as const } },
  };
}

function removeTrailingSlash(url: string): string {
  return url.endsWith('/') ? url.slice(0, -1) : url;
}

function renderIssuerError(
  ctx: KoaContextWithOIDC,
  pageError: PageError,
  errorPage: IssuerDependencies['errorPage'],
): void {
  const { client, params } = ctx.oidc;
  const requestedUri = params?.['redirect_uri'];
  const redirectUri =
    typeof requestedUri === 'string' && client?.redirectUriAllowed(requestedUri) === true
      ? requestedUri
      : undefined;
  // oidc-provider sets a redirect's status for `login_required`. An error page needs at least 400.
  if (ctx.status < 400) ctx.status = 400;
  ctx.type = 'html';
  ctx.body = errorPage(ctx.req, { ...pageError, redirectUri });
}
