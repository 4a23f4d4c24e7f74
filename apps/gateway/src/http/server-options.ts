import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { Failure } from '#contracts';
import { type HttpOptions, type RateLimits, type UserLimiter } from '#http';
import type { Log } from '#runtime';
import type { FastifyRequest } from 'fastify';
import type { Authenticator, Caller, RequiredScope } from '../auth/authenticator.js';
import type { GatewayConfig } from '../gateway.config.js';
import { errorFormat } from './errors.js';
import { hashOfBody } from './write-identity.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Authenticated user of the request; absent only on paths that need no credential. */
    caller?: Caller;
    /** SHA-256 (hex) of the body; absent without a body or without an `Idempotency-Key`. */
    bodyHash?: string | undefined;
  }
}

/** Returns the id of the authenticated user. @throws Failure `unauthorized` without one. */
export function userIdOf({ caller }: FastifyRequest): string {
  if (!caller) throw new Failure('unauthorized');
  return caller.userId;
}

/** Injects {@link userIdOf} of the request into a handler's parameter. */
export const UserId = createParamDecorator((_: unknown, context: ExecutionContext) =>
  userIdOf(context.switchToHttp().getRequest<FastifyRequest>()),
);

/** Patterns of the paths that need no credential for GET and HEAD. */
const publicPaths = [
  /^\/($|openapi\.json$|docs(\/.*)?$|(v1\/)?capabilities$)/,
  /^\/\.well-known\/(jwks\.json|oauth-protected-resource)$/,
  // Pictures, because <img> elements send no credential. Nobody can guess their random ids.
  /^\/(v1\/)?feeds\/artwork\/[^/]+$/,
];

/** CORS options of the API (docs/reference/interface.md). */
const corsOptions = {
  methods: ['GET', 'HEAD', 'POST', 'PATCH', 'DELETE'],
  allowedHeaders: ['Authorization', 'Content-Type', 'If-None-Match', 'Idempotency-Key'],
  exposedHeaders:
    'Date, Sync-Timestamp, ETag, Ignored-Parameters, Retry-After, X-Request-Id, RateLimit, ' +
    'RateLimit-Policy, WWW-Authenticate',
  maxAge: 600,
};

/** Headers of every answer except the API description in `/docs`: no scripts, no frames. */
const commonHeaders = { 'content-security-policy': "default-src 'none'; frame-ancestors 'none'" };
/** Headers of API answers. Lists replace `cache-control` by `no-cache` (list-responder.ts). */
const apiHeaders = { ...commonHeaders, 'cache-control': 'no-store' };
/** Headers of the API description in `/docs`, which needs its own scripts and inline styles. */
const docsHeaders = {
  'content-security-policy':
    "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; " +
    "frame-ancestors 'none'",
};

/** Objects that {@link serverOptions} uses. */
interface ServerDependencies {
  readonly authenticator: Authenticator;
  readonly limits: RateLimits;
  readonly limiter: UserLimiter;
}

/** Returns the options of the gateway's HTTP app. */
export function serverOptions(
  config: GatewayConfig,
  { authenticator, limits, limiter }: ServerDependencies,
  log: Log,
): HttpOptions {
  return {
    config,
    log,
    limits,
    limiter,
    errors: errorFormat(config),
    authenticate: async (request) => {
      if (needsNoCredential(request.method, extractPath(request))) return undefined;
      request.caller = await authenticator.authenticate(
        request.headers.authorization,
        selectScope(request),
        request.ip,
      );
      return request.caller.userId;
    },
    headers: (request) => {
      const path = extractPath(request);
      if (!needsNoCredential(request.method, path)) return apiHeaders;
      return /^\/docs(\/|$)/.test(path) ? docsHeaders : commonHeaders;
    },
    bodies: ['json', 'xml'],
    onBody: (request, body) => (request.bodyHash = hashOfBody(request.headers, body)),
    cors: config.CORS_ORIGINS && { ...corsOptions, origin: config.CORS_ORIGINS },
  };
}

/** Returns the scope that a token needs for a request. */
function selectScope(request: FastifyRequest): RequiredScope {
  if (request.method === 'GET' || request.method === 'HEAD') return 'read:subscriptions';
  return /^\/(?:v1\/)?feeds$/.test(extractPath(request)) ? 'write:feeds' : 'write:subscriptions';
}

/** Returns the path of a request, without its query. */
function extractPath({ url }: FastifyRequest): string {
  return url.split('?', 1)[0] as string;
}

/** Returns true for a read (GET or HEAD) of a path that needs no credential. */
export function needsNoCredential(method: string, path: string): boolean {
  return (
    (method === 'GET' || method === 'HEAD') && publicPaths.some((pattern) => pattern.test(path))
  );
}
