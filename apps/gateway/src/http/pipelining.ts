import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

/** Requests of one connection that may wait for their answers; no browser and no library sends a second one before the first is answered. */
const mostOpen = 32;

/**
 * Ends a connection on which more requests wait than anybody has use for. Node reads all that a client has sent and makes a
 * request of each at once, so that one packet could bring hundreds of them before anybody else has a turn.
 */
export function limitPipelining(fastify: FastifyInstance): void {
  const open = new WeakMap<Socket, number>();
  fastify.addHook('onRequest', (request, reply, done) => {
    const { socket } = request.raw;
    const count = (open.get(socket) ?? 0) + 1;
    if (count > mostOpen) {
      reply.hijack();
      socket.destroy();
      return;
    }
    open.set(socket, count);
    reply.raw.once('close', () => open.set(socket, (open.get(socket) ?? 1) - 1));
    done();
  });
}
