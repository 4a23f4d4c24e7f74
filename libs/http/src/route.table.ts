import type { FastifyInstance } from 'fastify';

/** Maximum characters of a path. On longer paths, patterns with several parameters are slow. */
const maxPathLength = 512;

/** The methods of each route path of an app, for 405 answers with `Allow` (RFC 9110, 15.5.6). */
export class RouteTable {
  private readonly paths = new Map<string, { form: RegExp; methods: string[] }>();

  /** @param fastify must not have any routes yet. */
  constructor(fastify: FastifyInstance) {
    fastify.addHook('onRoute', ({ url, method }) => {
      // Skips the CORS route of preflights.
      if (/^\/?\*$/.test(url)) return;
      const path = this.paths.get(url) ?? { form: formOf(url), methods: [] };
      path.methods.push(...[method].flat());
      this.paths.set(url, path);
    });
  }

  /** Returns the methods of a path; none for an unknown path or one above {@link maxPathLength}. */
  methodsOf(path: string): readonly string[] {
    const text = decoded(path);
    if (text.length > maxPathLength) return [];
    // A literal path takes precedence over parameters.
    const named = this.paths.get(text);
    const found = named ? [named] : [...this.paths.values()].filter(({ form }) => form.test(text));
    return [...new Set(found.flatMap(({ methods }) => methods))].toSorted();
  }
}

/** Returns the expression of a route path with parameters and a wildcard at its end. */
function formOf(url: string): RegExp {
  const parts = url.split(/:\w+(\([^)]*\))?/);
  const form = parts.map((part, index) =>
    index % 2 === 0 ? part?.replace(/[.]/g, '\\.').replace(/\*$/, '.*') : (part ?? '[^/]+?'),
  );
  return new RegExp(`^${form.join('')}$`);
}

/** Returns a path as the router decodes it. An invalid path stays as it is and matches no route. */
function decoded(path: string): string {
  try {
    return decodeURI(path);
  } catch {
    return path;
  }
}
