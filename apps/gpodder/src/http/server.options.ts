import { type HttpOptions, linkBase, type RateLimits, type UserLimiter } from '#http';
import type { Log } from '#runtime';
import type { FastifyRequest } from 'fastify';
import { type GpodderAuthenticator, hasName } from '../auth/authenticator.js';
import { newCookieValue, sessionCookie } from '../auth/session.cookie.js';
import type { GpodderConfig } from '../gpodder.config.js';
import { gpodderSessionMetrics } from '../gpodder.metrics.js';
import { errorFormat, failureAnswers, forbidden, RefusalError } from './errors.js';
import { accessOf } from '../auth/route.access.js';

/** Headers of every answer: no scripts, frames or caching. Some clients have an HTTP cache. */
const headers = {
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cache-control': 'no-store',
};

/** CORS as on gpodder.net: pages can read with `Authorization`, but without stored credentials. */
const cors = {
  origin: '*',
  methods: ['GET', 'HEAD'],
  allowedHeaders: ['Authorization'],
  maxAge: 600,
};

const safeMethods = ['GET', 'HEAD', 'OPTIONS'];

/** Matches a folder before the paths of Nextcloud, such as `/nextcloud`, which some apps send. */
const nextcloudFolder =
  /^\/[^?]*?(?=\/index\.php\/(?:apps\/gpoddersync|login\/v2)|\/ocs\/v2\.php\/core\/)/;

/** Objects that check a request before its handler runs. */
interface AdmissionParts {
  readonly authenticator: GpodderAuthenticator;
  readonly limits: RateLimits;
  readonly limiter: UserLimiter;
}

/** Returns the options of the app's HTTP server. */
export function serverOptions(
  config: GpodderConfig,
  { authenticator, limits, limiter }: AdmissionParts,
  log: Log,
): HttpOptions {
  const countSession = gpodderSessionMetrics();
  return {
    config,
    log,
    limits,
    limiter,
    errors: errorFormat(config),
    authenticate: async (request, reply) => {
      if (accessOf(request) === 'public') return undefined;
      const caller = await authenticator.authenticate(request);
      request.gpodderCaller = caller;
      if (!caller.session) {
        const cookie = newCookieValue(caller.credentialId, config.SESSION_KEY);
        const isSecure = linkBase(request, config).startsWith('https:');
        void reply.header('set-cookie', sessionCookie(cookie, isSecure));
        countSession('made');
      }
      return caller.userId;
    },
    authorize: (request) => {
      rejectCrossSiteWrite(request, new URL(linkBase(request, config)).origin);
      const { gpodderCaller: caller, params } = request;
      if (!caller) return;
      if (!hasName(caller, (params as { user?: string } | undefined)?.user))
        throw new RefusalError(failureAnswers.invalid);
      if (!caller.scopes.includes(`${accessOf(request)}:subscriptions`))
        throw new RefusalError(forbidden);
    },
    // Some clients send a whole body before they read an answer.
    refusedBodyBytes: config.MAX_BODY_BYTES,
    headers: () => headers,
    bodies: ['bytes'],
    cors,
    rewrite: (url) => url.replace(nextcloudFolder, ''),
  };
}

/** Rejects writes from pages of other sites, because browsers may have stored an app password. */
function rejectCrossSiteWrite(
  { method, headers: { origin, 'sec-fetch-site': site } }: FastifyRequest,
  ownOrigin: string,
): void {
  if (safeMethods.includes(method)) return;
  const isForeign = origin !== undefined && origin !== ownOrigin;
  if (isForeign || (site !== undefined && site !== 'same-origin' && site !== 'none'))
    throw new RefusalError(forbidden);
}
