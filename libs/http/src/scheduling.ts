import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Requests that begin in one tick of the event loop: of one credential, and of all. */
const [perCredential, perTick] = [4, 64];

/**
 * How long requests wait at most for new connections to be accepted, in milliseconds, and how many ticks after one the
 * next is looked for.
 */
const [acceptingMs, acceptingTicks] = [20, 2];

/** Requests that wait at most: each keeps its head in memory, which nothing else counts yet. */
const maxWaiting = 4_000;
/** Refusals that wait for a tick at most, as a thousand in one would hold up everybody; any more are sent at once. */
const maxRefusals = 1_000;

/**
 * Spreads requests over ticks of the event loop, so that those of one user never wait behind hundreds that another sent
 * at once. Credentials take turns.
 *
 * Node accepts one connection in a tick. While thousands come at once, requests begin every twenty milliseconds only: else
 * each connection would wait for as many requests as there are connections before it, for seconds.
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
  private readonly refusals: (() => void)[] = [];
  private isScheduled = false;
  /** Ticks in which another connection is likely, and when requests could begin last, by `performance.now()`. */
  private likely = 0;
  private openAt = 0;

  /** Takes note of a new connection. */
  accept(): void {
    this.likely = acceptingTicks;
    if (!this.isScheduled) this.schedule();
  }

  /**
   * Begins a request, at once where this tick allows it.
   *
   * @returns `false` where too many wait already; then it will not begin.
   */
  begin(credential: string, request: () => void): boolean {
    const own = this.credentials.get(credential) ?? { begun: 0, waiting: [] };
    this.credentials.set(credential, own);
    if (!this.isScheduled) this.schedule();
    const isFirst = own.waiting.length === 0;
    if (isFirst && own.begun < perCredential && this.begun < perTick && !this.isAccepting()) {
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

  /** Sends a refusal, in one of the next ticks where this is possible. */
  refuse(refusal: () => void): void {
    if (this.refusals.length >= maxRefusals) return refusal();
    this.refusals.push(refusal);
    if (!this.isScheduled) this.schedule();
  }

  private isAccepting(): boolean {
    return this.likely > 0 && performance.now() - this.openAt < acceptingMs;
  }

  private schedule(): void {
    this.isScheduled = true;
    setImmediate(() => {
      this.isScheduled = false;
      const isAccepting = this.isAccepting();
      this.likely = Math.max(0, this.likely - 1);
      if (isAccepting) return this.schedule();
      this.openAt = performance.now();
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
      for (const refusal of this.refusals.splice(0, perTick)) refusal();
      const isDone = this.credentials.size === 0 && this.refusals.length === 0 && this.likely === 0;
      if (!isDone && !this.isScheduled) this.schedule();
    });
  }
}

const refused = new WeakSet<IncomingMessage>();
/** Whether a request has to be answered with 503, as too many wait. */
export const isRefused = (request: IncomingMessage): boolean => refused.has(request);

/**
 * Begins the requests of a server fairly, before anything is done for them: to verify or to refuse hundreds in one tick
 * takes its time, too. As their users are not known yet, those with the same credential, or none, count as one user's; where
 * there is no `Authorization`, the cookies are the credential.
 */
export function scheduleFairly(server: Server): void {
  const scheduler = new FairScheduler();
  const listeners = server.listeners('request') as ((request: IncomingMessage, response: ServerResponse) => void)[];
  server.on('connection', () => scheduler.accept());
  server.removeAllListeners('request');
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const begin = () => {
      // Its client may be gone since.
      if (!request.socket.destroyed) for (const listener of listeners) listener.call(server, request, response);
    };
    if (scheduler.begin(request.headers.authorization ?? request.headers.cookie ?? '', begin)) return;
    refused.add(request);
    scheduler.refuse(begin);
  });
}

/**
 * Unanswered requests on one connection at most; browsers and libraries send one and wait for its answer. As many as may
 * begin in one tick, and as few as that: Node takes one new connection in each tick, so what hundreds of them bring at
 * once is what a stranger's new connection waits for.
 */
const maxPipelined = perCredential;

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
