import type { FastifyReply, FastifyRequest } from 'fastify';
import type { GatewayConfig } from '../gateway.config.js';
import { isOpen } from './routes.js';

/** For every answer: it is what its type says, nobody's frame, and goes to no other site by a link. */
const always = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
};
/** JSON runs nothing, and what is personal is kept by no cache; lists say otherwise, as they can be revalidated. */
const api = { 'content-security-policy': "default-src 'none'; frame-ancestors 'none'", 'cache-control': 'no-store' };
/** The reference page runs its own scripts, and styles that it writes itself. */
const open = {
  'content-security-policy':
    "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'",
};

/** Sets the headers by which browsers and caches are told to be careful. */
export function securityHeaders(config: GatewayConfig): (request: FastifyRequest, reply: FastifyReply) => void {
  // Only who publishes us by TLS can promise that we are always reached by TLS.
  const transport = config.PUBLIC_URL?.startsWith('https:') && { 'strict-transport-security': 'max-age=31536000' };
  const [forApi, forOpen] = [api, open].map((kind) => ({ ...always, ...transport, ...kind })) as [object, object];
  return (request, reply) => {
    void reply.headers(isOpen(request.method, request.url.split('?', 1)[0] as string) ? forOpen : forApi);
  };
}
