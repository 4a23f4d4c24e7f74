import { existsSync } from 'node:fs';
import fastifyStatic from '@fastify/static';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { sendFailure } from '../pages/failure.filter.js';
import { consoleFolder } from './console.build.js';

/** Where the console is, as browsers see it. */
const root = '/console/';

/** As the build names what never changes under its name: by its content. */
const hashed = /^\/console\/assets\/[^/]+$/;

/** Pages of the console that one may begin at: a word each, as they are routes of its own. */
const page = /^\/console\/[a-z]{0,20}$/;

/**
 * The headers of the console in the place of those of other pages: scripts of ours alone, none of them made of text, and
 * requests to ourselves and the API.
 */
export function consoleHeaders({ url }: FastifyRequest, api: string | undefined): Record<string, string> | undefined {
  if (!url.startsWith(root)) return undefined;
  const connect = api === undefined ? "'self'" : `'self' ${new URL(api).origin}`;
  return {
    'content-security-policy':
      `default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src ${connect}; ` +
      "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; " +
      "require-trusted-types-for 'script'; trusted-types 'none'",
    'cross-origin-opener-policy': 'same-origin',
  };
}

/**
 * Serves the built console at `/console/`. Its files are compressed when it is built, and named by their content but for
 * its one document, which every page of it begins with.
 *
 * @param fastify without the routes of the pages yet.
 * @param folder with what was built; where there is none, a page says so.
 */
export async function serveConsole(fastify: FastifyInstance, folder = consoleFolder ?? ''): Promise<void> {
  fastify.get('/console', (_request, reply) => reply.redirect(root, 308));
  if (!existsSync(`${folder}/index.html`)) {
    fastify.get(`${root}*`, (_request, reply) => sayMissing(reply));
    return;
  }
  await fastify.register(fastifyStatic, {
    root: folder,
    serve: false,
    preCompressed: true,
    cacheControl: false,
    index: false,
    dotfiles: 'ignore',
    extensions: [],
  });
  fastify.get(`${root}*`, (request, reply) => {
    const [path = ''] = request.url.split('?', 1);
    if (hashed.test(path)) {
      void reply.header('cache-control', 'public, max-age=31536000, immutable');
      return reply.sendFile(path.slice(root.length));
    }
    if (!page.test(path)) return sendFailure(reply, { kind: 'notFound' });
    void reply.header('cache-control', 'no-cache');
    return reply.sendFile('index.html');
  });
}

function sayMissing(reply: FastifyReply): FastifyReply {
  return reply
    .code(503)
    .header('cache-control', 'no-store')
    .type('text/plain; charset=utf-8')
    .send('The console is not built here: "npm run build" makes it (dist/console).\n');
}
