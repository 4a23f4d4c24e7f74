import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

declare module 'fastify' {
  interface FastifyRequest {
    /** Aborted when the answer was sent or the connection is gone, whichever comes first. Absent where no hook ran. */
    ended?: AbortSignal;
  }
}

/**
 * Sets `request.ended` of each request. Node does not suffice: when a connection is lost, it closes the one answer that
 * is being sent and says nothing about the pipelined requests behind it.
 */
export function trackEnds(fastify: FastifyInstance): void {
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
