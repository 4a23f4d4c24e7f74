import type { HttpOptions } from '#http';
import type { Log } from '#runtime';
import type { Caller } from '../auth/authenticator.js';
import type { GatewayConfig } from '../gateway.config.js';
import type { Admission } from './admission.js';
import { isOpen } from './routes.js';
import { hashOfBody } from './write.identity.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** The authenticated caller; absent only on paths that need no credential. */
    caller?: Caller;
    /** The SHA-256 of its body, where it has one and a key by which it may be sent again. */
    bodyHash?: string | undefined;
  }
}

/** What a web page may send and read (docs/interface.md). */
const cors = {
  methods: ['GET', 'HEAD', 'POST', 'PATCH', 'DELETE'],
  allowedHeaders: ['Authorization', 'Content-Type', 'If-None-Match', 'Idempotency-Key'],
  exposedHeaders:
    'Date, Sync-Timestamp, ETag, Ignored-Parameters, Retry-After, X-Request-Id, RateLimit, RateLimit-Policy, WWW-Authenticate',
  maxAge: 600,
};

/** On every answer that is no page. */
const withoutScripts = { 'content-security-policy': "default-src 'none'; frame-ancestors 'none'" };
/** On answers of the API, which are not cached either; lists allow revalidation (list.responder.ts). */
const api = { ...withoutScripts, 'cache-control': 'no-store' };
/** On the reference page, which has scripts of its own and inline styles. */
const reference = {
  'content-security-policy':
    "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'",
};

/** The gateway's HTTP server: before Nest's router {@link Admission}, then the body. */
export function serverOptions(config: GatewayConfig, admission: Admission, log: Log): HttpOptions {
  return {
    config,
    log,
    admit: (request, reply) => admission.admit(request, reply),
    refuse: (request, reply) => admission.refuse(request, reply),
    headers: ({ method, url }) => {
      const [path = ''] = url.split('?', 1);
      if (!isOpen(method, path)) return api;
      return /^\/docs(\/|$)/.test(path) ? reference : withoutScripts;
    },
    bodies: ['json', 'xml'],
    onBody: (request, body) => (request.bodyHash = hashOfBody(request.headers, body)),
    cors: config.CORS_ORIGINS && { ...cors, origin: config.CORS_ORIGINS },
  };
}
