import { applyDecorators } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import type { FastifyInstance, FastifyRequest } from 'fastify';

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

/** Characters of the longest path that is looked up: patterns of several parameters take their time for longer ones. */
const longestPath = 512;

/** The paths of all routes, and their methods, as they are added to a server. */
export class Routes {
  private readonly paths = new Map<string, { form: RegExp; methods: string[] }>();

  constructor(fastify: FastifyInstance) {
    fastify.addHook('onRoute', ({ url, method }) => {
      // The one of preflights.
      if (/^\/?\*$/.test(url)) return;
      const path = this.paths.get(url) ?? { form: formOf(url), methods: [] };
      path.methods.push(...[method].flat());
      this.paths.set(url, path);
    });
  }

  /** The methods of a path; none where there is no such path, or it is longer than any that is used. */
  methodsOf(path: string): readonly string[] {
    const text = decoded(path);
    if (text.length > longestPath) return [];
    return [...this.paths.values()].filter(({ form }) => form.test(text)).flatMap(({ methods }) => methods);
  }
}

/** Which right a request needs: none, or that of a scope. */
export function accessOf({ method, routeOptions }: FastifyRequest): 'open' | 'read' | 'write' {
  const access = (routeOptions.config as { access?: Access } | undefined)?.access;
  return access ?? (method === 'GET' || method === 'HEAD' || method === 'OPTIONS' ? 'read' : 'write');
}

/** What a path of the router matches: text, and parameters of a segment or a part of one. */
function formOf(url: string): RegExp {
  const parts = url.split(/:\w+(\([^)]*\))?/);
  const form = parts.map((part, index) => (index % 2 === 0 ? part?.replace(/[.]/g, '\\.') : (part ?? '[^/]+?')));
  return new RegExp(`^${form.join('')}$`);
}

/** A path as the router decodes it; one that can't be decoded stays as it is, and matches no route. */
function decoded(path: string): string {
  try {
    return decodeURI(path);
  } catch {
    return path;
  }
}
