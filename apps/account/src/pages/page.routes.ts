import type { FastifyInstance } from 'fastify';

/** Which methods each path takes, as routes were added: to say 405 in the place of 404 (RFC 9110, 15.5.6). */
export class PageRoutes {
  private readonly methods = new Map<string, Set<string>>();

  /** @param fastify without any route yet. */
  constructor(fastify: FastifyInstance) {
    fastify.addHook('onRoute', ({ url, method }) => {
      const known = this.methods.get(url) ?? new Set();
      for (const each of [method].flat()) known.add(each);
      this.methods.set(url, known);
    });
  }

  /** The methods of a path, none where there is no such path. */
  of(path: string): readonly string[] {
    const segments = path.split('/');
    const found = [...this.methods].filter(([route]) => {
      const pattern = route.split('/');
      return (
        pattern.length === segments.length &&
        pattern.every((part, at) => (part.startsWith(':') ? segments[at] !== '' : part === segments[at]))
      );
    });
    return [...new Set(found.flatMap(([, methods]) => [...methods]))];
  }
}
