import { applyDecorators } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import type { FastifyRequest } from 'fastify';

/** Who may ask for a route: anybody; whoever may read. Not said: by its method, whoever may read or write. */
type Access = 'open' | 'read';

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: Access;
  }
}

/** Marks a handler that needs no credential. */
export const Open = () => applyDecorators(RouteConfig({ access: 'open' satisfies Access }));
/** Marks a handler that changes nothing that is synced, whatever its method is. */
export const OnlyReads = () => applyDecorators(RouteConfig({ access: 'read' satisfies Access }));

/** Which right a request needs: none, or that of a scope. */
export function accessOf({ method, routeOptions }: FastifyRequest): 'open' | 'read' | 'write' {
  const access = (routeOptions.config as { access?: Access } | undefined)?.access;
  return access ?? (method === 'GET' || method === 'HEAD' || method === 'OPTIONS' ? 'read' : 'write');
}
