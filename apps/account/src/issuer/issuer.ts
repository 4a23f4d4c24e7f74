import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { scopes as apiScopes } from '#contracts';
import type { NodeHandler } from '#http';
import { RateLimited } from '#identity';
import { type Log, parseJson } from '#runtime';
import { createTokenRequestCounter } from '../account.metrics.js';
import type { FastifyRequest } from 'fastify';
import { type KoaContextWithOIDC, Provider } from 'oidc-provider';
import { type AccountConfig, CONFIG, LOG } from '../account.config.js';
import {
  addDefaultScope,
  allowAnyOrigin,
  hasOnlyPlainText,
  isPlainForm,
  readText,
  sendJson,
  sendPage,
} from './http-messages.js';
import {
  cookieNames,
  ERROR_PAGE,
  issuerConfiguration,
  type IssuerDependencies,
} from './provider-options.js';
import { IssuerLimits, type IssuerRequest } from './issuer-limits.js';
import { IssuerStore } from './issuer-store.js';
import { validateClientRegistration } from './registration.rules.js';
import { requestAddress, runWithAddress } from './request-address.js';
import { SigningKeys } from './signing-keys.js';

interface Route {
  readonly methods: readonly string[];
  /** Rate limit of the route; absent if the route has no limit. */
  readonly limit?: IssuerRequest;
}

const discoveryRoute: Route = { methods: ['GET', 'HEAD', 'OPTIONS'] };
const createPostRoute = (limit: IssuerRequest): Route => ({ methods: ['POST', 'OPTIONS'], limit });

/** Path at which a browser resumes an authorization after the consent page. */
const resumePath = '/auth/:uid';

/** Reachable routes of oidc-provider. Its own pages and disabled features are unreachable. */
const issuerRoutes: Readonly<Record<string, Route>> = {
  '/.well-known/openid-configuration': discoveryRoute,
  '/.well-known/oauth-authorization-server': discoveryRoute,
  '/jwks': discoveryRoute,
  '/auth': { methods: ['GET'], limit: 'authorize' },
  [resumePath]: { methods: ['GET'], limit: 'authorize' },
  '/device/auth': createPostRoute('authorize'),
  '/token': createPostRoute('token'),
  '/token/revocation': createPostRoute('token'),
  '/reg': createPostRoute('register'),
};
/** Routes that get CORS headers for any origin, because they use no cookie and no token. */
const corsRoutes: ReadonlySet<string> = new Set(['/jwks', '/reg']);

/** Response to a request that the issuer rejects before oidc-provider handles it. */
interface RejectedResponse {
  readonly status: 400 | 429 | 503;
  readonly retryAfterSeconds?: number;
  readonly error: string;
  readonly error_description: string;
}

/** Discovery metadata that replaces values of oidc-provider: API scopes, and no `form_post`. */
const metadataOverrides = {
  scopes_supported: ['openid', 'offline_access', ...apiScopes],
  response_modes_supported: ['query', 'fragment'],
};

/** Properties of a request that select its route, and identify its client for rate limits. */
export type IssuerCall = Pick<FastifyRequest, 'url' | 'method' | 'ip' | 'id'>;

/** Maximum bytes of a request that registers a client; above it, the response is 400. */
const maxRegistrationBytes = 16_384;
/** Maximum bytes of a form, as token requests send it; above it, the response is 400. */
const maxFormBytes = 57_344;

const malformedRequest: RejectedResponse = {
  status: 400,
  error: 'invalid_request',
  error_description: 'the request is too long, or contains control characters or invalid Unicode',
};

/**
 * Serves OpenID Connect and OAuth by oidc-provider, behind rate limits and input checks.
 * Invariants:
 * - Postgres stores all state of a flow, so any replica can continue a flow.
 * - The issuer has no browser session. The account pages identify the user and pass on the user id.
 * - Scheme and host come from `PUBLIC_URL` and never from headers.
 * - Without a user's decision, no response redirects a browser to a client.
 */
@Injectable()
export class Issuer implements OnApplicationShutdown {
  readonly signingKeys: SigningKeys;
  private readonly countTokenRequest = createTokenRequestCounter();
  private currentProvider: Provider;
  private readonly forwardedHeaders: Readonly<Record<string, string>>;
  private readonly providerCookieNames: readonly string[];

  constructor(
    @Inject(CONFIG) private readonly config: AccountConfig,
    @Inject(LOG) private readonly log: Log,
    private readonly store: IssuerStore,
    private readonly limits: IssuerLimits,
    @Inject(ERROR_PAGE) private readonly errorPage: IssuerDependencies['errorPage'],
  ) {
    const { host, protocol } = new URL(config.PUBLIC_URL);
    this.forwardedHeaders = {
      'x-forwarded-proto': protocol.slice(0, -1),
      'x-forwarded-host': host,
    };
    const { request, resume } = cookieNames(config);
    this.providerCookieNames = [request, resume];
    this.signingKeys = new SigningKeys(config.KEYS_DIRECTORY, log);
    this.currentProvider = this.createProvider();
    // oidc-provider reads its keys once, so a new key needs a new provider.
    this.signingKeys.onChange(() => (this.currentProvider = this.createProvider()));
  }

  /** Current instance of oidc-provider. A new signing key replaces the instance. */
  get provider(): Provider {
    return this.currentProvider;
  }

  onApplicationShutdown(): void {
    this.signingKeys.close();
  }

  /** Returns the function that answers a request to the issuer; undefined for other requests. */
  handlerFor(request: IssuerCall): NodeHandler | undefined {
    const path = request.url.split('?', 1)[0] as string;
    const routeKey = toRouteKey(path);
    const route = Object.hasOwn(issuerRoutes, routeKey) ? issuerRoutes[routeKey] : undefined;
    if (!route?.methods.includes(request.method)) return undefined;
    return {
      route: routeKey,
      listen: (raw, response) =>
        void runWithAddress(request.ip, () => this.answerRequest(path, route, raw, response)).catch(
          (error: unknown) => {
            const fields = { err: error, correlationId: request.id, route: routeKey };
            this.log.error(fields, 'OAuth request failed: internal error');
            if (response.headersSent) response.destroy();
            else sendJson(response, 500, { error: 'server_error' });
          },
        ),
    };
  }

  private async answerRequest(
    path: string,
    route: Route,
    raw: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const isPreflight = raw.method === 'OPTIONS';
    if (corsRoutes.has(path)) allowAnyOrigin(response);
    if (path === '/jwks' && !isPreflight)
      return sendJson(response, 200, this.signingKeys.publicKeySet);
    if (path === '/reg' && isPreflight) return void response.writeHead(204).end();
    if (route.limit && !isPreflight) {
      const rejection = await this.countOrReject(route.limit, isSentByWebPage(raw.headers));
      if (rejection) return this.sendRejection(path, raw, response, rejection);
    }
    this.sanitizeHeaders(raw);
    if (!isPlainForm(raw.url?.split(/\?(.*)/s, 2)[1] ?? ''))
      return this.sendRejection(path, raw, response, malformedRequest);
    if (path === '/auth') addDefaultScope(raw);
    if (path === '/reg') {
      const body = parseJson((await readText(raw, maxRegistrationBytes)) ?? '');
      if (!hasOnlyPlainText(body)) return this.sendRejection(path, raw, response, malformedRequest);
      const registration = validateClientRegistration(body);
      if ('error' in registration) return sendJson(response, 400, registration);
      // oidc-provider uses `body` and does not read the request again.
      Object.assign(raw, { body: registration });
    } else if (raw.headers['content-type']?.startsWith('application/x-www-form-urlencoded')) {
      const body = await readText(raw, maxFormBytes);
      if (body === undefined || !isPlainForm(body))
        return this.sendRejection(path, raw, response, malformedRequest);
      Object.assign(raw, { body });
    }
    await this.currentProvider.callback()(raw, response);
  }

  /**
   * Counts a request against its rate limit. Returns undefined for an allowed request, otherwise
   * the response that rejects it: 503 if Postgres is unavailable, 429 above the limit.
   */
  private async countOrReject(
    limit: IssuerRequest,
    isFromWebPage: boolean,
  ): Promise<RejectedResponse | undefined> {
    const error = 'temporarily_unavailable';
    if (!this.store.isAvailable) {
      const error_description = 'the database is unavailable';
      return { status: 503, retryAfterSeconds: 2, error, error_description };
    }
    try {
      await this.limits.countRequest(limit, requestAddress(), isFromWebPage);
      return undefined;
    } catch (limited) {
      if (!(limited instanceof RateLimited)) throw limited;
      const { retryAfter: retryAfterSeconds } = limited;
      return { status: 429, retryAfterSeconds, error, error_description: 'too many requests' };
    }
  }

  private sendRejection(
    path: string,
    raw: IncomingMessage,
    response: ServerResponse,
    rejection: RejectedResponse,
  ): void {
    const { status, retryAfterSeconds, ...error } = rejection;
    if (retryAfterSeconds !== undefined)
      response.setHeader('retry-after', String(retryAfterSeconds));
    if (path.startsWith('/auth')) return sendPage(response, status, this.errorPage(raw, error));
    sendJson(response, status, error);
  }

  /**
   * Sets the `x-forwarded-` headers from PUBLIC_URL. Removes `authorization` and all cookies except
   * those of oidc-provider, which must receive no credential of the account pages.
   */
  private sanitizeHeaders(raw: IncomingMessage): void {
    delete raw.headers.authorization;
    Object.assign(raw.headers, this.forwardedHeaders);
    const providerCookies = raw.headers.cookie
      ?.split(/; */)
      .filter((pair) => this.providerCookieNames.some((name) => pair.startsWith(`${name}=`)));
    raw.headers.cookie = providerCookies?.join('; ') ?? '';
  }

  private createProvider(): Provider {
    const { config, store } = this;
    const provider = new Provider(
      config.PUBLIC_URL,
      issuerConfiguration({
        config,
        key: this.signingKeys.signingKey,
        adapter: (model) => store.adapter(model),
        isActive: (id) => store.isActive(id),
        errorPage: this.errorPage,
      }),
    );
    provider.use(async (ctx, next) => {
      await next();
      // Preflight requests have no body to override.
      if (ctx.path.startsWith('/.well-known/') && ctx.body)
        Object.assign(ctx.body as object, metadataOverrides);
    });
    // Makes oidc-provider trust the `x-forwarded-` headers, which `sanitizeHeaders` sets.
    provider.proxy = true;
    provider.on('authorization.error', (ctx, error) => {
      // Any client can register any redirect URI. Without a user's decision, the issuer shows an
      // error page instead of a redirect (RFC 9700, 4.11.2).
      if (ctx.oidc.entities.Interaction?.result === undefined) error.allow_redirect = false;
    });
    const countRequest = (ctx: KoaContextWithOIDC, outcome: string) =>
      this.countTokenRequest(readGrantTypeLabel(ctx), outcome);
    provider.on('grant.success', (ctx) => countRequest(ctx, 'issued'));
    provider.on('grant.error', (ctx, { error }) => countRequest(ctx, error));
    provider.on('server_error', ({ res, path }, error) => {
      // The HTTP server has set `x-request-id` to the correlation id.
      const correlationId = res.getHeader('x-request-id');
      const fields = { err: error, correlationId, route: toRouteKey(path) };
      this.log.error(fields, 'OAuth request failed: oidc-provider error');
    });
    return provider;
  }
}

/** Returns {@link resumePath} for `/auth/` with the id of an authorization, otherwise the path. */
function toRouteKey(path: string): string {
  return /^\/auth\/[\w-]{1,64}$/.test(path) ? resumePath : path;
}

/**
 * Returns true if a script, frame or form of a web page sent the request; false for a link or app.
 * Browsers send `Origin` with each POST and `Sec-Fetch-Dest` with images, frames and `fetch`.
 */
function isSentByWebPage({
  origin,
  'sec-fetch-dest': destination = 'document',
}: IncomingHttpHeaders): boolean {
  return origin !== undefined || destination !== 'document';
}

const labelByGrantType: ReadonlyMap<unknown, string> = new Map([
  ['authorization_code', 'authorization_code'],
  ['refresh_token', 'refresh_token'],
  ['urn:ietf:params:oauth:grant-type:device_code', 'device_code'],
]);

/** Returns the grant type of a token request as a metric label; `other` if it is invalid. */
function readGrantTypeLabel({ oidc }: KoaContextWithOIDC): string {
  return labelByGrantType.get(oidc?.params?.['grant_type']) ?? 'other';
}
