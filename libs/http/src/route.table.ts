import type { FastifyInstance } from 'fastify';

/** Characters of the longest path that is looked up: patterns of several parameters take their time for longer ones. */
const longestPath = 512;

/**
 * The paths of an app's routes and their methods, as its controllers declare them: to answer 405 with `Allow` where a path is
 * there and its method is not (RFC 9110, 15.5.6).
 */
export class RouteTable {
  private readonly paths = new Map<string, { form: RegExp; methods: string[] }>();

  /** @param fastify without any route yet. */
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
    // A path that is named is none of those that a parameter stands for.
    const named = this.paths.get(text);
    const found = named ? [named] : [...this.paths.values()].filter(({ form }) => form.test(text));
    return [...new Set(found.flatMap(({ methods }) => methods))].toSorted();
  }
}

/** What a path of the router matches: text, parameters of a segment or a part of one, and anything at its end. */
function formOf(url: string): RegExp {
  const parts = url.split(/:\w+(\([^)]*\))?/);
  const form = parts.map((part, index) =>
    index % 2 === 0 ? part?.replace(/[.]/g, '\\.').replace(/\*$/, '.*') : (part ?? '[^/]+?'),
  );
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
