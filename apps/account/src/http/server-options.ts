import { type HttpOptions, type RateLimits, UserLimiter } from '#http';
import type { Log } from '#runtime';
import { consoleHeaders } from '../console/console-files.js';
import { Cookies } from '../pages/cookies.js';
import { pageErrorFormat } from '../pages/failure.filter.js';
import type { AccountConfig } from '../account.config.js';

/** Headers of every response. Scripts, styles and form targets must be of the same origin. */
const responseHeaders = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; " +
    "img-src 'self' data:; manifest-src 'self'; form-action 'self'; frame-ancestors 'none'; " +
    "base-uri 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  'cache-control': 'no-store',
  // With the policy `no-referrer`, browsers send `Origin: null` with forms (Fetch standard).
  // Without TLS, only `Origin` proves that this site sent the form.
  'referrer-policy': 'same-origin',
};

/** Maximum request bodies in progress per network or user. Above it, the slowest request ends. */
const maxBodiesPerClient = 100;

/** Functions for requests. Before issuer and sessions start, each function returns undefined. */
export interface LateHandlers {
  /** Returns the issuer's handler of a request; undefined if the issuer has no such route. */
  readonly issuer: HttpOptions['nodeHandlerFor'];
  /** Returns the session of a cookie; undefined if the session is unknown or has ended. */
  readonly session: (cookie: string) => Promise<{ accountId: string } | undefined>;
}

/** Creates the options of the HTTP server: limits, the issuer's routes, and form bodies. */
export function serverOptions(
  config: AccountConfig,
  log: Log,
  limits: RateLimits,
  { issuer, session }: LateHandlers,
): HttpOptions {
  const cookies = new Cookies(config.PUBLIC_URL);
  return {
    config,
    log,
    limits,
    limiter: new UserLimiter({ requests: maxBodiesPerClient, bytes: config.MAX_HELD_BYTES }),
    errors: pageErrorFormat,
    // The HTTP server authenticates no request. Pages check sessions; the issuer checks tokens.
    authenticate: async () => undefined,
    sessionUser: async (request) => {
      const { session: cookie } = cookies.readBrowser(request);
      // If Postgres is unavailable, limits apply per network, and the page reports the outage.
      const userSession = cookie && (await session(cookie).catch(() => undefined));
      return userSession ? userSession.accountId : undefined;
    },
    headers: (request) => ({
      ...responseHeaders,
      ...consoleHeaders(request, config.API_URLS[0]),
    }),
    // Pages send forms. Only the poll of a login flow (`/login/v2/poll`) sends JSON.
    bodies: ['form', 'json'],
    cookies: true,
    nodeHandlerFor: issuer,
  };
}
