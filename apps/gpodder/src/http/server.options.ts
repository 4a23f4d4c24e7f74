import { type HttpOptions, linkBase, type RateLimits, type UserLimiter } from '#http';
import type { Log } from '#runtime';
import type { FastifyRequest } from 'fastify';
import { type Authenticator, isNamed } from '../auth/authenticator.js';
import { makeSession, sessionCookie } from '../auth/session.cookie.js';
import type { GpodderConfig } from '../gpodder.config.js';
import { gpodderSessionMetrics } from '../gpodder.metrics.js';
import { errorFormat, failureAnswers, forbidden, Refused } from './errors.js';
import { accessOf } from './routes.js';

/** No scripts, frames or caching; some clients have an HTTP cache. */
const headers = {
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cache-control': 'no-store',
};

/** CORS as on gpodder.net: pages can read with `Authorization`, but no stored credentials. */
const cors = {
  origin: '*',
  methods: ['GET', 'HEAD'],
  allowedHeaders: ['Authorization'],
  maxAge: 600,
};

const safeMethods = ['GET', 'HEAD', 'OPTIONS'];

/** Folder before the paths of Nextcloud, as some apps send it. */
const folder = /^\/[^?]*?(?=\/index\.php\/(?:apps\/gpoddersync|login\/v2)|\/ocs\/v2\.php\/core\/)/;

interface Gates {
  readonly authenticator: Authenticator;
  readonly limits: RateLimits;
  readonly limiter: UserLimiter;
}

/** Returns the options of the app's HTTP server. */
export function serverOptions(
  config: GpodderConfig,
  { authenticator, limits, limiter }: Gates,
  log: Log,
): HttpOptions {
  const countSession = gpodderSessionMetrics();
  return {
    config,
    log,
    limits,
    limiter,
    errors: errorFormat,
    authenticate: async (request, reply) => {
      if (accessOf(request) === 'open') return undefined;
      const caller = await authenticator.authenticate(request);
      request.by = caller;
      if (!caller.session) {
        const cookie = makeSession(caller.credentialId, config.SESSION_KEY);
        const isSecure = linkBase(request, config).startsWith('https:');
        void reply.header('set-cookie', sessionCookie(cookie, isSecure));
        countSession('made');
      }
      return caller.userId;
    },
    authorize: (request) => {
      refusePages(request, new URL(linkBase(request, config)).origin);
      const { by, params } = request;
      if (!by) return;
      if (!isNamed(by, (params as { user?: string } | undefined)?.user))
        throw new Refused(failureAnswers.invalid);
      if (!by.scopes.includes(`${accessOf(request)}:subscriptions`)) throw new Refused(forbidden);
    },
    // Some clients send a whole body before they read an answer.
    refusedBodyBytes: config.MAX_BODY_BYTES,
    headers: () => headers,
    bodies: ['bytes'],
    cors,
    rewrite: (url) => url.replace(folder, ''),
  };
}

/** Rejects requests from pages of other sites, because browsers may have stored an app password. */
function refusePages(
  { method, headers: { origin, 'sec-fetch-site': site } }: FastifyRequest,
  own: string,
): void {
  if (safeMethods.includes(method)) return;
  const isForeign = origin !== undefined && origin !== own;
  if (isForeign || (site !== undefined && site !== 'same-origin' && site !== 'none'))
    throw new Refused(forbidden);
}
