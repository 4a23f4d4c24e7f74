import { RouteConfig } from '@nestjs/platform-fastify';
import type { FastifyRequest } from 'fastify';

/** The permission that a route declares instead of the default of its HTTP method. */
type Access = 'public' | 'read';

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: Access;
  }
}

/** Marks a handler that needs no credential. */
export const Public = () => RouteConfig({ access: 'public' satisfies Access });
/** Marks a handler that needs only read permission, also with POST and other methods. */
export const NeedsReadScope = () => RouteConfig({ access: 'read' satisfies Access });

/** Returns the permission that a request needs; `public` if it needs no credential. */
export function requiredAccess({ method, routeOptions }: FastifyRequest): Access | 'write' {
  const access = (routeOptions.config as { access?: Access } | undefined)?.access;
  return (
    access ?? (method === 'GET' || method === 'HEAD' || method === 'OPTIONS' ? 'read' : 'write')
  );
}
