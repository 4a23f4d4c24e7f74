import { type HttpOptions, linkBase, type RateLimits, type UserLimiter } from '#http';
import type { Log } from '#runtime';
import type { FastifyRequest } from 'fastify';
import { type GpodderAuthenticator, matchesName } from '../auth/authenticator.js';
import { newCookieValue, sessionCookie } from '../auth/session-cookie.js';
import type { GpodderConfig } from '../gpodder.config.js';
import { gpodderSessionMetrics } from '../gpodder.metrics.js';
import { errorFormat, failureAnswers, forbidden, RejectionError } from './errors.js';
import { requiredAccess } from '../auth/route-access.js';

/** Headers of every answer: no scripts, no frames, and no caching, because some clients cache. */
const answerHeaders = {
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cache-control': 'no-store',
};

/** CORS as on gpodder.net: web pages can read with `Authorization`, but not with cookies. */
const corsOptions = {
  origin: '*',
  methods: ['GET', 'HEAD'],
  allowedHeaders: ['Authorization'],
  maxAge: 600,
};

/** HTTP methods that change nothing (RFC 9110, 9.2.1). */
const readMethods = ['GET', 'HEAD', 'OPTIONS'];

/** Matches a folder before a path of Nextcloud, such as `/nextcloud`, which some apps add. */
const nextcloudFolder =
  /^\/[^?]*?(?=\/index\.php\/(?:apps\/gpoddersync|login\/v2)|\/ocs\/v2\.php\/core\/)/;

/** Objects that check requests before a handler runs. */
interface ServerDependencies {
  readonly authenticator: GpodderAuthenticator;
  readonly limits: RateLimits;
  readonly limiter: UserLimiter;
}

/** Returns the options of the gpodder app's HTTP server. */
export function serverOptions(
  config: GpodderConfig,
  { authenticator, limits, limiter }: ServerDependencies,
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
      if (requiredAccess(request) === 'public') return undefined;
      const caller = await authenticator.authenticate(request);
      request.gpodderCaller = caller;
      if (!caller.session) {
        const cookieValue = newCookieValue(caller.credentialId, config.SESSION_KEY);
        const isSecure = linkBase(request, config).startsWith('https:');
        void reply.header('set-cookie', sessionCookie(cookieValue, isSecure));
        countSession('made');
      }
      return caller.userId;
    },
    authorize: (request) => {
      rejectCrossSiteWrite(request, new URL(linkBase(request, config)).origin);
      const { gpodderCaller: caller, params } = request;
      if (!caller) return;
      if (!matchesName(caller, (params as { user?: string } | undefined)?.user))
        throw new RejectionError(failureAnswers.invalid);
      if (!caller.scopes.includes(`${requiredAccess(request)}:subscriptions`))
        throw new RejectionError(forbidden);
    },
    // Some clients read the answer only after they have sent the whole body. So the server also
    // reads the whole body of a rejected request.
    rejectedBodyBytes: config.MAX_BODY_BYTES,
    headers: () => answerHeaders,
    bodies: ['bytes'],
    cors: corsOptions,
    rewrite: (url) => url.replace(nextcloudFolder, ''),
  };
}

/** Rejects writes from other sites, because browsers can add a stored app password to a write. */
function rejectCrossSiteWrite(
  { method, headers: { origin, 'sec-fetch-site': site } }: FastifyRequest,
  ownOrigin: string,
): void {
  if (readMethods.includes(method)) return;
  const isForeign = origin !== undefined && origin !== ownOrigin;
  if (isForeign || (site !== undefined && site !== 'same-origin' && site !== 'none'))
    throw new RejectionError(forbidden);
}
