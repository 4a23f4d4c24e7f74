import type { RequestListener } from 'node:http';
import { type HttpOptions, type RateLimits, UserLimiter } from '#http';
import type { Log } from '#runtime';
import type { FastifyRequest } from 'fastify';
import { consoleHeaders } from '../console/console.files.js';
import { pageErrors } from '../pages/failure.filter.js';
import type { AccountConfig } from '../account.config.js';

/** On every answer: nothing but our own stylesheet and images, forms that go nowhere else, no frames, no caching. */
const headers = {
  'content-security-policy':
    "default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
  'cache-control': 'no-store',
  // Nothing to other sites. To pages of this one it may be told where a form was: without it browsers send `Origin: null`,
  // and where there is no TLS, that alone says that a form is ours.
  'referrer-policy': 'same-origin',
};

/** Requests that one network may hold bytes for at the same time. */
const requestsPerNetwork = 100;

/** The HTTP server of the account app: bounds for strangers, the issuer's own routes, and forms for the pages. */
export function serverOptions(
  config: AccountConfig,
  log: Log,
  limits: RateLimits,
  issuer: (request: FastifyRequest) => RequestListener | undefined,
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
    // JSON for the poll of a login flow alone.
    bodies: ['form', 'json'],
    cookies: true,
    handOver: issuer,
  };
}
