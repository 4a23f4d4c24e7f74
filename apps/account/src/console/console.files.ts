import { existsSync } from 'node:fs';
import fastifyStatic from '@fastify/static';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { sendFailure } from '../pages/failure.filter.js';
import { consoleFolder } from './console.build.js';

const root = '/console/';

/** Files whose name contains a content hash, so that their content never changes. */
const hashed = /^\/console\/assets\/[^/]+$/;

/** Entry pages of the console. The names of its client routes are one word each. */
const page = /^\/console\/[a-z]{0,20}$/;

/** Returns headers of the console, which allow only own script files; undefined for other paths. */
export function consoleHeaders(
  { url }: FastifyRequest,
  api: string | undefined,
): Record<string, string> | undefined {
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
 * Serves the built console at `/console/`. Only `index.html`, which all its pages share, has no
 * content hash in its name.
 *
 * @param folder of the build; without it, a response explains the missing build.
 */
export async function serveConsole(
  fastify: FastifyInstance,
  folder = consoleFolder ?? '',
): Promise<void> {
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
