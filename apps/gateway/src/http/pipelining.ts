import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Unanswered requests on one connection at most; browsers and libraries send one and wait for its answer. */
const maxPipelined = 10;

/** What Node's parser has to be told to parse nothing more: that another protocol follows. */
const stop = 2;

/** The part of Node's parser that is used here. It is not documented; a test holds it for each version of Node. */
interface Parser {
  onIncoming?: (request: IncomingMessage, keepAlive: boolean) => number;
}

/**
 * Closes connections that send more than {@link maxPipelined} requests without waiting for an answer, as RFC 9112,
 * 9.3.2, allows.
 *
 * Node parses and starts every request that one read has brought, which may be 2,400 of them, before it does anything
 * else, and has no limit of its own. So this stops the parser where it is.
 */
export function limitPipelining(server: Server): void {
  const unanswered = new WeakMap<Socket, number>();
  server.prependListener('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    unanswered.set(socket, (unanswered.get(socket) ?? 0) + 1);
    response.once('close', () => unanswered.set(socket, (unanswered.get(socket) ?? 1) - 1));
  });
  server.on('connection', (socket: Socket & { parser?: Parser }) => {
    const { parser } = socket;
    const start = parser?.onIncoming;
    if (!parser || !start) return;
    parser.onIncoming = (request, keepAlive) => {
      if ((unanswered.get(socket) ?? 0) < maxPipelined) return start(request, keepAlive);
      socket.destroy();
      return stop;
    };
  });
}
