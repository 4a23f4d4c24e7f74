import type { FastifyInstance } from 'fastify';

/** Maximum length of a path: patterns with several parameters would be slow on longer paths. */
const maxPathLength = 512;

/** The methods of each route of an app, for the `Allow` of 405 answers (RFC 9110, 15.5.6). */
export class RouteTable {
  private readonly paths = new Map<string, { pattern: RegExp; methods: string[] }>();

  /** @param fastify collects the routes that are added to it later. */
  constructor(fastify: FastifyInstance) {
    fastify.addHook('onRoute', ({ url, method }) => {
      // Skips the CORS route of preflights.
      if (/^\/?\*$/.test(url)) return;
      const path = this.paths.get(url) ?? { pattern: toPattern(url), methods: [] };
      path.methods.push(...[method].flat());
      this.paths.set(url, path);
    });
  }

  /** Returns the methods of the routes of a path; none above {@link maxPathLength}. */
  methodsOf(path: string): readonly string[] {
    const text = decodePath(path);
    if (text.length > maxPathLength) return [];
    // Like the router, prefers a literal route to routes with parameters.
    const literal = this.paths.get(text);
    const found = literal
      ? [literal]
      : [...this.paths.values()].filter(({ pattern }) => pattern.test(text));
    return [...new Set(found.flatMap(({ methods }) => methods))].toSorted();
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

/** Decodes a path like the router. Returns an invalid path unchanged, which matches no route. */
function decodePath(path: string): string {
  try {
    return decodeURI(path);
  } catch {
    return path;
  }
}
