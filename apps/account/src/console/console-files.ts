import { existsSync } from 'node:fs';
import fastifyStatic from '@fastify/static';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { sendFailure } from '../pages/failure.filter.js';
import { consoleFolder } from '../pages/site-assets.js';

const consoleRoot = '/console/';

/** Matches the path of a file in `assets`. The file name contains a hash of the content. */
const hashedAssetPath = /^\/console\/assets\/[^/]+$/;

/** Matches the path of a console page: `/console/` and at most 20 lower-case letters. */
const consolePagePath = /^\/console\/[a-z]{0,20}$/;

/**
 * Returns the response headers for a path of the console; undefined for other paths. Scripts must
 * come from this origin.
 *
 * @param api URL of the API, to which the console sends requests.
 */
export function consoleHeaders(
  { url }: FastifyRequest,
  api: string,
): Record<string, string> | undefined {
  if (!url.startsWith(consoleRoot)) return undefined;
  const allowedOrigins = `'self' ${new URL(api).origin}`;
  return {
    'content-security-policy':
      "default-src 'none'; script-src 'self'; style-src 'self'; manifest-src 'self'; " +
      `img-src ${allowedOrigins} data:; connect-src ${allowedOrigins}; ` +
      "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; " +
      "require-trusted-types-for 'script'; trusted-types 'none'",
    'cross-origin-opener-policy': 'same-origin',
  };
}

/**
 * Serves the built console at `/console/`. The response for each page is `index.html`. All other
 * files have a content hash in their name, so browsers cache them for a year.
 *
 * @param folder folder of the built console. If it contains no `index.html`, the response is a 503
 *   with the build command.
 */
export async function serveConsole(
  fastify: FastifyInstance,
  folder = consoleFolder ?? '',
): Promise<void> {
  fastify.get('/console', (_request, reply) => reply.redirect(consoleRoot, 308));
  if (!existsSync(`${folder}/index.html`)) {
    fastify.get(`${consoleRoot}*`, (_request, reply) => sendConsoleNotBuilt(reply));
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
  fastify.get(`${consoleRoot}*`, (request, reply) => {
    const [path = ''] = request.url.split('?', 1);
    if (hashedAssetPath.test(path)) {
      void reply.header('cache-control', 'public, max-age=31536000, immutable');
      return reply.sendFile(path.slice(consoleRoot.length));
    }
    if (!consolePagePath.test(path)) return sendFailure(reply, { kind: 'notFound' });
    void reply.header('cache-control', 'no-cache');
    return reply.sendFile('index.html');
  });
}

function sendConsoleNotBuilt(reply: FastifyReply): FastifyReply {
  return reply
    .code(503)
    .header('cache-control', 'no-store')
    .type('text/plain; charset=utf-8')
    .send('The console is not built: run "npm run build", which creates dist/console.\n');
}
