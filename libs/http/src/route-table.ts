import type { FastifyInstance } from 'fastify';

/** Length of a path above which no route matches, as patterns with parameters would be slow. */
const maxPathLength = 512;

/** The methods of each route of an app, for the `Allow` of 405 answers (RFC 9110, 15.5.6). */
export class RouteTable {
  private readonly routes = new Map<string, { pattern: RegExp; methods: string[] }>();

  /** @param fastify collects the routes that are added to it later. */
  constructor(fastify: FastifyInstance) {
    fastify.addHook('onRoute', ({ url, method }) => {
      // Skips the CORS route of preflights.
      if (/^\/?\*$/.test(url)) return;
      const route = this.routes.get(url) ?? { pattern: toPattern(url), methods: [] };
      route.methods.push(...[method].flat());
      this.routes.set(url, route);
    });
  }

  /** Returns the methods of the routes of a path; none above {@link maxPathLength}. */
  methodsOf(path: string): readonly string[] {
    const decodedPath = decodePath(path);
    if (decodedPath.length > maxPathLength) return [];
    // Like the router, prefers a literal route to routes with parameters.
    const literal = this.routes.get(decodedPath);
    const matches = literal
      ? [literal]
      : [...this.routes.values()].filter(({ pattern }) => pattern.test(decodedPath));
    return [...new Set(matches.flatMap(({ methods }) => methods))].toSorted();
  }
}

/** Converts a route path, with parameters and a final wildcard, to a regular expression. */
function toPattern(url: string): RegExp {
  const parts = url.split(/:\w+(\([^)]*\))?/);
  const pattern = parts.map((part, index) =>
    index % 2 === 0 ? part?.replace(/[.]/g, '\\.').replace(/\*$/, '.*') : (part ?? '[^/]+?'),
  );
  return new RegExp(`^${pattern.join('')}$`);
}

/** Decodes a path like the router. Returns an invalid path unchanged; no route matches it. */
function decodePath(path: string): string {
  try {
    return decodeURI(path);
  } catch {
    return path;
  }
}
