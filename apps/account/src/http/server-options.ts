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
  // Under a stricter referrer policy, browsers send `Origin: null` with forms. Without TLS, only
  // `Origin` proves that this site sent the form.
  'referrer-policy': 'same-origin',
};

/** Maximum number of request bodies in progress, per network or signed-in user. */
const maxBodiesPerClient = 100;

/** Functions of parts that start after the creation of the HTTP server, before its requests. */
export interface LateHandlers {
  /** Returns the issuer's handler of a request; undefined for requests of other parts. */
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
    // The HTTP server authenticates no request: pages and the issuer check sessions and tokens.
    authenticate: async () => undefined,
    sessionUser: async (request) => {
      const { session: cookie } = cookies.readBrowser(request);
      // Without the database, rate limits apply per network, and the page reports the outage.
      const found = cookie && (await session(cookie).catch(() => undefined));
      return found ? found.accountId : undefined;
    },
    headers: (request) => ({
      ...responseHeaders,
      ...consoleHeaders(request, config.API_URLS[0]),
    }),
    // Pages send forms; only the poll of a login flow sends JSON.
    bodies: ['form', 'json'],
    cookies: true,
    nodeHandlerFor: issuer,
  };
}
