import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Requests that begin in one tick of the event loop: of one credential, and of all. */
const [perCredential, perTick] = [4, 64];

/** Requests that wait at most: each keeps its head in memory, which nothing else counts yet. */
const maxWaiting = 4_000;

/**
 * Spreads requests over ticks of the event loop, so that those of one user never wait behind hundreds that another sent
 * at once. Credentials take turns.
 *
 * Of the places to wait one credential may take at most half of those that are free, as of the bytes that a user holds
 * (ADR 11).
 */
export class FairScheduler {
  /** Those with requests in this tick or waiting: how many have begun in this tick, and the others in their order. */
  private readonly credentials = new Map<string, { begun: number; waiting: (() => void)[] }>();
  /** Requests of all that have begun in this tick, and that wait. */
  private begun = 0;
  private waiting = 0;
  private isScheduled = false;

  /**
   * Begins a request, at once where this tick allows it.
   *
   * @returns `false` where too many wait already; then it will not begin.
   */
  begin(credential: string, request: () => void): boolean {
    const own = this.credentials.get(credential) ?? { begun: 0, waiting: [] };
    this.credentials.set(credential, own);
    if (!this.isScheduled) this.schedule();
    if (own.begun < perCredential && this.begun < perTick) {
      own.begun += 1;
      this.begun += 1;
      request();
      return true;
    }
    if (own.waiting.length >= (maxWaiting - this.waiting) / 2) return false;
    this.waiting += 1;
    own.waiting.push(request);
    return true;
  }

  private schedule(): void {
    this.isScheduled = true;
    setImmediate(() => {
      this.isScheduled = false;
      this.begun = 0;
      // A copy, as the map changes meanwhile.
      const turns = [...this.credentials];
      for (const [credential, own] of turns) {
        if (this.begun >= perTick) break;
        const next = own.waiting.splice(0, Math.min(perCredential, perTick - this.begun));
        this.waiting -= next.length;
        this.begun += next.length;
        own.begun = next.length;
        // Whoever has begun some goes behind those who have not.
        this.credentials.delete(credential);
        if (next.length > 0) this.credentials.set(credential, own);
        for (const request of next) request();
      }
      if (this.credentials.size > 0 && !this.isScheduled) this.schedule();
    });
  }
}

/**
 * Begins the requests of a server fairly, before anything is done for them: to verify or to refuse hundreds in one tick
 * takes its time, too. As their users are not known yet, those with the same credential, or none, count as one user's.
 *
 * @returns whether a request has to be answered with 503, as too many wait.
 */
export function scheduleFairly(server: Server): (request: IncomingMessage) => boolean {
  const scheduler = new FairScheduler();
  const refused = new WeakSet<IncomingMessage>();
  const listeners = server.listeners('request') as ((request: IncomingMessage, response: ServerResponse) => void)[];
  server.removeAllListeners('request');
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const begin = () => {
      // Its client may be gone since.
      if (!request.socket.destroyed) for (const listener of listeners) listener.call(server, request, response);
    };
    if (scheduler.begin(request.headers.authorization ?? '', begin)) return;
    refused.add(request);
    begin();
  });
  return (request) => refused.has(request);
}

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
  const count = ({ socket }: IncomingMessage, response: ServerResponse) => {
    unanswered.set(socket, (unanswered.get(socket) ?? 0) + 1);
    response.once('close', () => unanswered.set(socket, (unanswered.get(socket) ?? 1) - 1));
  };
  server.prependListener('request', count);
  // A request with an `Expect` that nobody can meet is answered without becoming a `request`.
  server.prependListener('checkExpectation', count);
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
