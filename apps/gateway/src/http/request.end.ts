import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

declare module 'fastify' {
  interface FastifyRequest {
    /** Aborted once, when its answer has left or its connection is gone, whichever comes first. Not there where no hook saw it. */
    ended?: AbortSignal;
  }
}

/** Requests of one connection that may wait for their answers; no browser and no library sends a second one before the first is answered. */
const mostOpen = 32;

/**
 * Tells each request's end, from before anything is waited for: of a connection that is lost Node closes the one answer that
 * is on its way, and says nothing of those behind it.
 *
 * A connection on which more requests wait than anybody has use for is ended. Node reads all that a client has sent and
 * makes a request of each at once, so that one packet could bring hundreds of them before anybody else has a turn.
 */
export function tellEnds(fastify: FastifyInstance): void {
  const connections = new WeakMap<Socket, Set<() => void>>();
  const openOn = (socket: Socket) => {
    const known = connections.get(socket);
    if (known) return known;
    const open = new Set<() => void>();
    connections.set(socket, open);
    socket.once('close', () => open.forEach((end) => end()));
    return open;
  };
  fastify.addHook('onRequest', (request, reply, done) => {
    const { socket } = request.raw;
    const open = openOn(socket);
    if (open.size >= mostOpen || socket.destroyed) {
      reply.hijack();
      socket.destroy();
      return;
    }
    const controller = new AbortController();
    const end = () => {
      // With a reason of its own, as the usual one is an exception with a stack, made for each request.
      if (open.delete(end)) controller.abort('the request has ended');
    };
    open.add(end);
    reply.raw.once('close', end);
    request.ended = controller.signal;
    done();
  });
}
