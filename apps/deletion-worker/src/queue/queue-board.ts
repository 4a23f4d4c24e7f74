import { createHash, timingSafeEqual } from 'node:crypto';
import type { OpsRoutes } from '#runtime';
import type { Queue } from 'bullmq';
import { z } from 'zod';

/** Path of Bull Board on the ops port (`OPS_PORT`). */
const boardPath = '/queues';

/** Settings of the page about the queue, part of the deletion worker's configuration. */
export const queueBoardConfig = z.object({
  QUEUE_BOARD_PASSWORD: z
    .string()
    .min(16, 'must have at least 16 characters')
    .optional()
    .describe(
      'Password of a page about the queue at `/queues` on `OPS_PORT`. Without it there is no page.',
    ),
  QUEUE_BOARD_WRITABLE: z
    .stringbool()
    .default(false)
    .describe(
      'Allows the page to retry, remove and add jobs and to pause the queue; else it is read-only.',
    ),
});
type QueueBoardConfig = z.output<typeof queueBoardConfig>;

/**
 * Creates Bull Board, a page about the queue. It requires `QUEUE_BOARD_PASSWORD` by HTTP Basic with
 * any user name, or as a bearer token.
 *
 * @returns the routes of the page. Without a configured password it returns undefined, and does not
 *   load the packages of Bull Board.
 */
export async function queueBoard(
  queue: Queue,
  config: QueueBoardConfig,
): Promise<OpsRoutes | undefined> {
  const { QUEUE_BOARD_PASSWORD: password, QUEUE_BOARD_WRITABLE: isWritable } = config;
  if (password === undefined) return undefined;
  const [{ fastify }, { createBullBoard }, { BullMQAdapter }, { FastifyAdapter }] =
    await Promise.all([
      import('fastify'),
      import('@bull-board/api'),
      import('@bull-board/api/bullMQAdapter'),
      import('@bull-board/fastify'),
    ]);
  const server = fastify();
  server.addHook('onRequest', async (request, reply) => {
    if (hasPassword(request.headers.authorization, password)) return;
    await reply
      .code(401)
      .header('www-authenticate', 'Basic realm="queues", charset="UTF-8"')
      .send('not authorized: send QUEUE_BOARD_PASSWORD with any user name\n');
  });
  const serverAdapter = new FastifyAdapter();
  serverAdapter.setBasePath(boardPath);
  createBullBoard({
    queues: [new BullMQAdapter(queue, { readOnlyMode: !isWritable })],
    serverAdapter,
  });
  await server.register(serverAdapter.registerPlugin(), { prefix: boardPath });
  await server.ready();
  return (request, response) => {
    const [path = ''] = (request.url ?? '').split('?', 1);
    if (path !== boardPath && !path.startsWith(`${boardPath}/`)) return false;
    server.routing(request, response);
    return true;
  };
}

/**
 * Returns true if an `Authorization` header has the password. It compares SHA-256 digests in
 * constant time, so the duration reveals nothing about the password.
 */
function hasPassword(authorization: string | undefined, password: string): boolean {
  const [, scheme = '', credential = ''] =
    /^(basic|bearer) +(\S+)$/i.exec(authorization ?? '') ?? [];
  // A Basic credential is `name:password`. The name is ignored.
  const decodeCredential = () => Buffer.from(credential, 'base64').toString();
  const sentPassword =
    scheme.toLowerCase() === 'basic' ? decodeCredential().replace(/^[^:]*:/, '') : credential;
  return timingSafeEqual(sha256(sentPassword), sha256(password));
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
