import type { IncomingMessage } from 'node:http';
import { scopes as apiScopes } from '#contracts';
import type { AccountConfig } from '../account.config.js';
import { type Adapter, type Configuration, errors, interactionPolicy, type KoaContextWithOIDC } from 'oidc-provider';
import { firstParty } from './clients.js';
import { requestAddress } from './request.origin.js';
import type { SigningKey } from './signing.keys.js';

const minute = 60;
const day = 86_400;

/** How long things live, in seconds. */
const lifetimes = {
  accessToken: 10 * minute,
  code: minute,
  /** What waits for a person. */
  request: 15 * minute,
  /** From its making; each use makes a new one. */
  refreshToken: 90 * day,
  /** A grant without a token: refresh tokens prolong it (oidc.adapter.ts). */
  grant: day,
} as const;

/** Where the API is for those who do not say which one they mean. */
const anyApi = 'urn:podcast-sync:api';

/** Provides what makes {@link IssuerParts.errorPage}, which is a part of the pages. */
export const ERROR_PAGE = Symbol('page of an error');

/** What the issuer needs from the rest of the app. */
export interface IssuerParts {
  readonly config: AccountConfig;
  readonly key: SigningKey;
  adapter(model: string): Adapter;
  /** Whether there is such an account, and it may sign in. */
  isActive(accountId: string): Promise<boolean>;
  /** The page that tells a person of an error. */
  readonly errorPage: (
    request: IncomingMessage,
    error: { error: string; error_description?: string | undefined },
  ) => string;
}

/** The cookies of the issuer; those of apps on other ports of one host have other names. */
export function cookieNames({ PUBLIC_URL }: AccountConfig): Record<'session' | 'request' | 'resume', string> {
  const name = (what: string) => `${PUBLIC_URL.startsWith('https:') ? '__Secure-' : ''}podcast_sync_${what}`;
  return { session: name('issuer'), request: name('request'), resume: name('resume') };
}

/** Returns the features of OAuth that the issuer has, and the APIs that it issues tokens for. */
function features(config: AccountConfig): Configuration['features'] {
  return {
    devInteractions: { enabled: false },
    dPoP: { enabled: false },
    pushedAuthorizationRequests: { enabled: false },
    rpInitiatedLogout: { enabled: false },
    userinfo: { enabled: false },
    revocation: { enabled: true, allowedPolicy: (_ctx, client, token) => token.clientId === client.clientId },
    deviceFlow: { enabled: true, deviceInfo: () => ({ address: requestAddress() }) },
    registration: { enabled: true, issueRegistrationAccessToken: false },
    resourceIndicators: {
      enabled: true,
      defaultResource: (_ctx, _client, oneOf) => (oneOf ? (oneOf[0] as string) : (config.API_URLS?.[0] ?? anyApi)),
      useGrantedResource: () => true,
      getResourceServerInfo: (_ctx, resource) => apiResource(config, resource),
    },
  };
}

/** How oidc-provider is to behave; the traps that this answers are in docs/design/adr/0021. */
export function issuerConfiguration({ config, key, adapter, isActive, errorPage }: IssuerParts): Configuration {
  const isSecure = config.PUBLIC_URL.startsWith('https:');
  const cookie = { httpOnly: true, sameSite: 'lax', secure: isSecure, overwrite: true } as const;
  const names = cookieNames(config);
  return {
    adapter: (model: string) => adapter(model),
    clients: firstParty.map((client) => ({ ...client, grant_types: [...(client.grant_types ?? [])] })),
    jwks: { keys: [key] as never },
    // Our own sessions decide who is signed in: the issuer forgets its own with the request, and each begins anew.
    cookies: {
      names: { session: names.session, interaction: names.request, resume: names.resume },
      long: cookie,
      short: cookie,
    },
    features: features(config),
    // Those of the issuer itself; the API's are its own (getResourceServerInfo).
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
    ttl: {
      AccessToken: lifetimes.accessToken,
      AuthorizationCode: lifetimes.code,
      DeviceCode: lifetimes.request,
      Interaction: lifetimes.request,
      IdToken: lifetimes.accessToken,
      RefreshToken: lifetimes.refreshToken,
      Grant: lifetimes.grant,
      Session: minute,
    },
    issueRefreshToken: (_ctx, client) => client.grantTypeAllowed('refresh_token'),
    rotateRefreshToken: () => true,
    expiresWithSession: () => false,
    revokeGrantPolicy: () => true,
    extraTokenClaims: (_ctx, token) => ('grantId' in token && token.grantId ? { gid: token.grantId } : undefined),
    // A token without this claim would be one that may do everything.
    formats: { customizers: { jwt: (_ctx, _token, parts) => void (parts.payload.scope ??= '') } },
    findAccount: async (_ctx, sub) => {
      if (!(await isActive(sub))) return undefined;
      return { accountId: sub, claims: () => ({ sub }) };
    },
    clientBasedCORS: (_ctx, origin, client) =>
      client.redirectUris?.some((uri) => URL.canParse(uri) && new URL(uri).origin === origin) ?? false,
    interactions: { policy: interactionPolicy.base(), url: (_ctx, { uid }) => `/interaction/${uid}` },
    renderError: (ctx, out) => renderError(ctx, out, errorPage),
  };
}

/** The API behind a resource indicator (RFC 8707). @throws InvalidTarget for any other one. */
export function apiResource({ API_URLS = [], API_AUDIENCE }: AccountConfig, resource: string) {
  const isSame = (url: string) => withoutSlash(url) === withoutSlash(resource);
  if (resource !== anyApi && !API_URLS.some(isSame)) throw new errors.InvalidTarget();
  return {
    scope: apiScopes.join(' '),
    audience: API_AUDIENCE,
    accessTokenFormat: 'jwt' as const,
    accessTokenTTL: lifetimes.accessToken,
    jwt: { sign: { alg: 'EdDSA' as const } },
  };
}

function withoutSlash(url: string): string {
  return url.endsWith('/') ? url.slice(0, -1) : url;
}

function renderError(
  ctx: KoaContextWithOIDC,
  out: { error: string; error_description?: string | undefined },
  errorPage: IssuerParts['errorPage'],
): void {
  ctx.type = 'html';
  ctx.body = errorPage(ctx.req, out);
}
