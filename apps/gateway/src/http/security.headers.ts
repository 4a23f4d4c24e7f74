import type { FastifyReply, FastifyRequest } from 'fastify';
import type { GatewayConfig } from '../gateway.config.js';
import { isOpen } from './routes.js';

/** On every answer: no sniffing of types, no referrer, no embedding in other sites. */
const always = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
};
/** On answers of the API: no scripts, no frames, no caching; lists allow revalidation (list.responder.ts). */
const api = { 'content-security-policy': "default-src 'none'; frame-ancestors 'none'", 'cache-control': 'no-store' };
/** On open paths: the reference page has scripts of its own and inline styles. */
const open = {
  'content-security-policy':
    "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'",
};

/** Sets the security headers of an answer. */
export function securityHeaders(config: GatewayConfig): (request: FastifyRequest, reply: FastifyReply) => void {
  // Only a public URL with TLS allows the promise that TLS is always there.
  const transport = config.PUBLIC_URL?.startsWith('https:') && { 'strict-transport-security': 'max-age=31536000' };
  const [forApi, forOpen] = [api, open].map((kind) => ({ ...always, ...transport, ...kind })) as [object, object];
  return (request, reply) => {
    void reply.headers(isOpen(request.method, request.url.split('?', 1)[0] as string) ? forOpen : forApi);
  };
}
