import { applyDecorators } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import type { FastifyRequest } from 'fastify';

/** Access of a route without a credential or for reading. By default the method decides. */
type Access = 'open' | 'read';

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: Access;
  }
}

/** Marks a handler that needs no credential. */
export const Open = () => applyDecorators(RouteConfig({ access: 'open' satisfies Access }));
/** Marks a handler that changes no synced data, with any method. */
export const OnlyReads = () => applyDecorators(RouteConfig({ access: 'read' satisfies Access }));

/** Returns the access that a request needs: none, or that of a scope. */
export function accessOf({ method, routeOptions }: FastifyRequest): 'open' | 'read' | 'write' {
  const access = (routeOptions.config as { access?: Access } | undefined)?.access;
  return (
    access ?? (method === 'GET' || method === 'HEAD' || method === 'OPTIONS' ? 'read' : 'write')
  );
}
