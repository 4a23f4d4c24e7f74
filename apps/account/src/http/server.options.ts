import { type HttpOptions, type RateLimits, UserLimiter } from '#http';
import type { Log } from '#runtime';
import { consoleHeaders } from '../console/console.files.js';
import { pageErrors } from '../pages/failure.filter.js';
import type { AccountConfig } from '../account.config.js';

/** Headers of every response. They allow only own stylesheets, images and form targets. */
const headers = {
  'content-security-policy':
    "default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
  'cache-control': 'no-store',
  // Without a referrer to this site, browsers send `Origin: null`. Without TLS, only `Origin`
  // proves that a form is ours.
  'referrer-policy': 'same-origin',
};

/** Maximum number of concurrent requests with buffered bytes per network. */
const requestsPerNetwork = 100;

/** Creates the options of the HTTP server with limits, the issuer's routes, and form bodies. */
export function serverOptions(
  config: AccountConfig,
  log: Log,
  limits: RateLimits,
  issuer: HttpOptions['handOver'],
): HttpOptions {
  return {
    config,
    log,
    limits,
    limiter: new UserLimiter({ requests: requestsPerNetwork, bytes: config.MAX_HELD_BYTES }),
    errors: pageErrors,
    // Pages and the issuer check sessions and tokens themselves.
    authenticate: async () => undefined,
    headers: (request) => ({ ...headers, ...consoleHeaders(request, config.API_URLS?.[0]) }),
    // Only the poll of a login flow sends JSON.
    bodies: ['form', 'json'],
    cookies: true,
    handOver: issuer,
  };
}
