import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { scopes as apiScopes } from '#contracts';
import type { HandedOver } from '#http';
import { RateLimited } from '#identity';
import type { Log } from '#runtime';
import { tokenMetrics } from '../account.metrics.js';
import type { FastifyRequest } from 'fastify';
import { type KoaContextWithOIDC, Provider } from 'oidc-provider';
import { type AccountConfig, CONFIG, LOG } from '../account.config.js';
import {
  allowAnyOrigin,
  isPlain,
  isPlainForm,
  jsonOf,
  readText,
  sendJson,
  sendPage,
  withDefaultScope,
} from './http.messages.js';
import {
  cookieNames,
  ERROR_PAGE,
  issuerConfiguration,
  type IssuerParts,
} from './issuer.configuration.js';
import { IssuerLimits, type IssuerRequest } from './issuer.limits.js';
import { IssuerStore } from './issuer.store.js';
import { registrationOf } from './registration.rule.js';
import { inRequestOf, requestAddress } from './request.origin.js';
import { SigningKeys } from './signing.keys.js';

interface Route {
  readonly methods: readonly string[];
  /** The rate limit that counts its requests. */
  readonly counts?: IssuerRequest;
}

const discovery: Route = { methods: ['GET', 'HEAD', 'OPTIONS'] };
const posted = (counts: IssuerRequest): Route => ({ methods: ['POST', 'OPTIONS'], counts });

/** The pattern of the path at which a page returns to an authorization. */
const resumePath = '/auth/:uid';

/** All other routes of oidc-provider are unreachable: its pages, and disabled features. */
const routes: Readonly<Record<string, Route>> = {
  '/.well-known/openid-configuration': discovery,
  '/.well-known/oauth-authorization-server': discovery,
  '/jwks': discovery,
  '/auth': { methods: ['GET'], counts: 'authorize' },
  [resumePath]: { methods: ['GET'], counts: 'authorize' },
  '/device/auth': posted('authorize'),
  '/token': posted('token'),
  '/token/revocation': posted('token'),
  '/reg': posted('register'),
};
/** Routes with CORS for any origin: their responses are the same for all clients. */
const openToAll: ReadonlySet<string> = new Set(['/jwks', '/reg']);

interface Refusal {
  readonly status: 400 | 429 | 503;
  readonly retryAfter?: number;
  readonly error: string;
  readonly error_description: string;
}

/** Metadata that replaces oidc-provider's. `form_post` is not supported. */
const announced = {
  scopes_supported: ['openid', 'offline_access', ...apiScopes],
  response_modes_supported: ['query', 'fragment'],
};

/** The properties of a request that select and limit its route. */
export type IssuerCall = Pick<FastifyRequest, 'url' | 'method' | 'ip' | 'id'>;

/** Maximum sizes of a registration and a form in bytes. */
const registrationBytes = 16_384;
const formBytes = 57_344;

const malformed: Refusal = {
  status: 400,
  error: 'invalid_request',
  error_description: 'the request is too long, or has control characters or invalid Unicode',
};

/**
 * Serves OpenID Connect and OAuth by oidc-provider, behind rate limits and input checks.
 * Invariants:
 * - It has no state of its own: any replica continues a flow that another one started.
 * - It has no browser session: each request is unauthenticated until a page names the user.
 * - Scheme and host come from the configuration, whatever the headers contain.
 * - Without a decision of a person, no response leads a browser to the redirect URI of a client.
 */
@Injectable()
export class Issuer implements OnApplicationShutdown {
  readonly keys: SigningKeys;
  private readonly countTokens = tokenMetrics();
  private current: Provider;
  private readonly forwarded: Readonly<Record<string, string>>;
  private readonly cookies: readonly string[];

  constructor(
    @Inject(CONFIG) private readonly config: AccountConfig,
    @Inject(LOG) private readonly log: Log,
    private readonly store: IssuerStore,
    private readonly limits: IssuerLimits,
    @Inject(ERROR_PAGE) private readonly errorPage: IssuerParts['errorPage'],
  ) {
    const { host, protocol } = new URL(config.PUBLIC_URL);
    this.forwarded = { 'x-forwarded-proto': protocol.slice(0, -1), 'x-forwarded-host': host };
    const { request, resume: resumed } = cookieNames(config);
    this.cookies = [request, resumed];
    this.keys = new SigningKeys(config.KEYS_DIRECTORY, log);
    this.current = this.create();
    // oidc-provider reads its keys only once.
    this.keys.onChange(() => (this.current = this.create()));
  }

  get provider(): Provider {
    return this.current;
  }

  onApplicationShutdown(): void {
    this.keys.close();
  }

  /** Returns the listener of a request to the issuer; undefined for other paths and methods. */
  listener(request: IssuerCall): HandedOver | undefined {
    const path = request.url.split('?', 1)[0] as string;
    const name = /^\/auth\/[\w-]{1,64}$/.test(path) ? resumePath : path;
    const route = Object.hasOwn(routes, name) ? routes[name] : undefined;
    if (!route?.methods.includes(request.method)) return undefined;
    const origin = { address: request.ip };
    return {
      route: name,
      listen: (raw, response) =>
        void inRequestOf(origin, () => this.answer(path, route, raw, response)).catch(
          (error: unknown) => {
            const facts = { err: error, requestId: request.id, route: name };
            this.log.error(facts, 'the issuer failed');
            if (response.headersSent) response.destroy();
            else sendJson(response, 500, { error: 'server_error' });
          },
        ),
    };
  }

  private async answer(
    path: string,
    route: Route,
    raw: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const isPreflight = raw.method === 'OPTIONS';
    if (openToAll.has(path)) allowAnyOrigin(response);
    if (path === '/jwks' && !isPreflight) return sendJson(response, 200, this.keys.keySet);
    if (path === '/reg' && isPreflight) return void response.writeHead(204).end();
    if (route.counts && !isPreflight) {
      const refusal = await this.refusalOf(route.counts, isOfPage(raw.headers));
      if (refusal) return this.refuse(path, raw, response, refusal);
    }
    this.cleanse(raw);
    if (!isPlainForm(raw.url?.split(/\?(.*)/s, 2)[1] ?? ''))
      return this.refuse(path, raw, response, malformed);
    if (path === '/auth') withDefaultScope(raw);
    if (path === '/reg') {
      const sent = jsonOf(await readText(raw, registrationBytes));
      if (!isPlain(sent)) return this.refuse(path, raw, response, malformed);
      const registration = registrationOf(sent);
      if ('error' in registration) return sendJson(response, 400, registration);
      // Replaces the sent body: oidc-provider accepts a parsed body.
      Object.assign(raw, { body: registration });
    } else if (raw.headers['content-type']?.startsWith('application/x-www-form-urlencoded')) {
      const body = await readText(raw, formBytes);
      if (body === undefined || !isPlainForm(body))
        return this.refuse(path, raw, response, malformed);
      Object.assign(raw, { body });
    }
    await this.current.callback()(raw, response);
  }

  /** Returns the reason to reject a request: Postgres unavailable, or the rate limit reached. */
  private async refusalOf(counts: IssuerRequest, ofPage: boolean): Promise<Refusal | undefined> {
    const error = 'temporarily_unavailable';
    if (!this.store.isAvailable)
      return { status: 503, retryAfter: 2, error, error_description: 'the database is away' };
    try {
      await this.limits.consume(counts, requestAddress(), ofPage);
      return undefined;
    } catch (limited) {
      if (!(limited instanceof RateLimited)) throw limited;
      const { retryAfter } = limited;
      return { status: 429, retryAfter, error, error_description: 'too many requests' };
    }
  }

  private refuse(
    path: string,
    raw: IncomingMessage,
    response: ServerResponse,
    refusal: Refusal,
  ): void {
    const { status, retryAfter, ...error } = refusal;
    if (retryAfter !== undefined) response.setHeader('retry-after', String(retryAfter));
    if (path.startsWith('/auth')) return sendPage(response, status, this.errorPage(raw, error));
    sendJson(response, status, error);
  }

  /** Removes headers that the issuer must not use, and sets scheme and host. */
  private cleanse(raw: IncomingMessage): void {
    delete raw.headers.authorization;
    Object.assign(raw.headers, this.forwarded);
    const own = raw.headers.cookie
      ?.split(/; */)
      .filter((pair) => this.cookies.some((name) => pair.startsWith(`${name}=`)));
    raw.headers.cookie = own?.join('; ') ?? '';
  }

  private create(): Provider {
    const { config, store } = this;
    const provider = new Provider(
      config.PUBLIC_URL,
      issuerConfiguration({
        config,
        key: this.keys.signing,
        adapter: (model) => store.adapter(model),
        isActive: (id) => store.isActive(id),
        errorPage: this.errorPage,
      }),
    );
    provider.use(async (ctx, next) => {
      await next();
      // The response to a preflight has no body.
      if (ctx.path.startsWith('/.well-known/') && ctx.body)
        Object.assign(ctx.body as object, announced);
    });
    // `cleanse` sets the headers that this setting trusts.
    provider.proxy = true;
    provider.on('authorization.error', (ctx, error) => {
      // A client registers its own redirect URI, so only a person can send a browser there
      // (RFC 9700, 4.11.2).
      if (ctx.oidc.entities.Interaction?.result === undefined) error.allow_redirect = false;
    });
    const count = (ctx: KoaContextWithOIDC, outcome: string) =>
      this.countTokens(grantTypeOf(ctx), outcome);
    provider.on('grant.success', (ctx) => count(ctx, 'issued'));
    provider.on('grant.error', (ctx, { error }) => count(ctx, error));
    provider.on('server_error', (_ctx: unknown, error: Error) =>
      this.log.error({ err: error }, 'the issuer failed'),
    );
    return provider;
  }
}

/**
 * Returns true if a web page sent the request, other than by a link that opens in a window.
 * Browsers send `Origin` with each POST and `Sec-Fetch-Dest` with images, frames and `fetch`.
 */
function isOfPage({ origin, 'sec-fetch-dest': target = 'document' }: IncomingHttpHeaders): boolean {
  return origin !== undefined || target !== 'document';
}

const grantTypes: Readonly<Record<string, string>> = {
  authorization_code: 'authorization_code',
  refresh_token: 'refresh_token',
  'urn:ietf:params:oauth:grant-type:device_code': 'device_code',
};

/** Returns the grant type of a token request as a metric label; `other` for an invalid one. */
function grantTypeOf({ oidc }: KoaContextWithOIDC): string {
  const named = oidc?.params?.['grant_type'];
  return (
    (typeof named === 'string' && Object.hasOwn(grantTypes, named) && grantTypes[named]) || 'other'
  );
}
