import { randomUUID } from 'node:crypto';
import { ClientProxy, type ReadPacket, type WritePacket } from '@nestjs/microservices';
import type { Cluster, Redis } from 'ioredis';
import type { Logger } from 'pino';
import { throwError, type Observable } from 'rxjs';
import { defaultDeadlineMs, Failure, failureSchema, unavailable } from '#contracts';
import { warnOfEviction } from '#redis';
import { decodeReplies, encodeRequest, longestBudgetMs, type Result } from '../wire/format.js';
import { replyChannel, serviceOf } from '../wire/keys.js';
import { linkEvents, type LinkEvents, type LinkStatus } from '../wire/redis.link.js';
import { ClientLinks } from './links.js';
import { PendingCalls } from './pending.calls.js';
import type { ServiceView } from './service.view.js';

export interface StreamClientOptions {
  /** Opens a connection; two are kept, one that writes and one that is subscribed to the replies. */
  readonly connect: () => Redis | Cluster;
  readonly log: Logger;
  /** Services to watch from the start; others are from their first call on. */
  readonly services?: readonly string[];
  /** Most calls of this process to one service that wait at the same time; more fail at once. Default 1,000. */
  readonly maxInFlight?: number;
  /** How often services are polled. Default 500 ms. */
  readonly pollMs?: number;
}

/** Counts what a client did since it was made. */
export interface ClientCounters {
  readonly inFlight: number;
  readonly sent: number;
  /** Failed at once: the service was missing or overloaded, or Redis away. */
  readonly refused: number;
  readonly timedOut: number;
  /** Replies that nobody waited for any more. */
  readonly late: number;
  readonly reconnects: number;
  /** Per service: how long its oldest unread request had been waiting. */
  readonly backlogMs: Readonly<Record<string, number>>;
}

/** Facts and limits of one call. */
export interface RequestOptions {
  /** How long to wait for the answer, at most a minute. */
  readonly budgetMs: number;
  readonly metadata?: Readonly<Record<string, string>>;
  /** Whether no dead letter may keep its data. */
  readonly secret?: boolean;
}

/** A packet of Nest, and whether its data is a secret. */
type Packet = ReadPacket & { secret?: boolean | undefined };

const tooMany = 'too many calls are in flight';
const notConnected = 'the client is not connected';
const timedOut: Result = { error: unavailable('no reply within the deadline') };

/**
 * Nest's client side of the transport; one per process, for all services.
 *
 * Invariants:
 * - Every call is settled by its deadline, whatever became of Redis, the service or the reply.
 * - A call that can't be answered is refused at once: no replica alive, too many in flight, a backlog that
 *   leaves too little of the deadline, Redis away.
 * - It receives only its own replies, on a channel of its own; each is matched by the id of a call that still waits.
 * - Nothing is sent twice.
 */
export class StreamClient extends ClientProxy<LinkEvents, LinkStatus> {
  private readonly channel = replyChannel(randomUUID());
  private readonly pending = new PendingCalls(timedOut);
  private readonly listeners: [event: string, listener: LinkEvents[string]][] = [];
  private readonly counts = { sent: 0, refused: 0, timedOut: 0, late: 0 };
  private links?: ClientLinks;
  private opening?: Promise<void>;

  constructor(private readonly options: StreamClientOptions) {
    super();
  }

  /** What this client did so far. */
  get counters(): ClientCounters {
    const views = [...(this.links?.views ?? [])];
    return {
      ...this.counts,
      inFlight: this.pending.size,
      reconnects: this.links?.all.reduce((sum, link) => sum + link.losses, 0) ?? 0,
      backlogMs: Object.fromEntries(views.map(([service, view]) => [service, view.backlogMs])),
    };
  }

  /** Whether calls can be sent: Redis is there and replies are received. */
  get isUp(): boolean {
    return this.links?.isUp ?? false;
  }

  /** Resolves when it is subscribed to replies and has polled every service; waits for Redis as long as that takes. */
  override connect(): Promise<void> {
    this.opening ??= this.open();
    return this.opening;
  }

  /** Lets go of Redis; calls that wait fail as `unavailable`. */
  override async close(): Promise<void> {
    const links = this.links;
    this.links = undefined;
    this.opening = undefined;
    this.pending.settleAll({ error: unavailable('the client is closed') });
    await links?.close();
    this._status$.next('disconnected');
  }

  override on<Event extends keyof LinkEvents>(event: Event, listener: LinkEvents[Event]): void {
    this.listeners.push([String(event), listener]);
    for (const link of this.links?.all ?? []) link.on(String(event), listener);
  }

  /** The two connections: the one that writes and the one that is subscribed to replies. */
  override unwrap<T>(): T {
    if (!this.links) throw new Error('The client is not connected yet.');
    return this.links.all.map((link) => link.redis) as T;
  }

  override send<TResult = any, TInput = any>(pattern: any, data: TInput): Observable<TResult> {
    // Nest's `send` connects first, and would wait for Redis for ever.
    if (this.opening && !this.isUp) return throwError(() => unavailable('Redis is away'));
    return super.send<TResult, TInput>(pattern, data);
  }

  override emit<TResult = any, TInput = any>(pattern: any, data: TInput): Observable<TResult> {
    if (this.opening && !this.isUp) return throwError(() => unavailable('Redis is away'));
    return super.emit<TResult, TInput>(pattern, data);
  }

  /**
   * Calls a pattern and resolves to what its handler returned; `call` does this with a contract.
   *
   * @throws Failure of the handler or `unavailable`; what an ordinary handler of Nest threw, as Nest made it.
   */
  async request(pattern: string, data: unknown, options: RequestOptions): Promise<unknown> {
    const packet: Packet = this.createPacket(pattern, data);
    packet.secret = options.secret;
    packet.metadata = { ...packet.metadata, ...options.metadata };
    const result = await new Promise<Result>((resolve) => this.ask(packet, options.budgetMs, resolve));
    if ('error' in result) throw thrown(result.error);
    return result.value;
  }

  protected override publish(packet: ReadPacket, callback: (packet: WritePacket) => void): () => void {
    return this.ask(packet, defaultDeadlineMs, (result) => {
      if ('error' in result) callback({ err: thrown(result.error), isDisposed: true });
      else callback({ response: result.value, isDisposed: true });
    });
  }

  protected override async dispatchEvent(packet: ReadPacket): Promise<any> {
    const view = this.viewFor(packet);
    if (!view || view.isFull) throw this.refusal(view ? tooMany : notConnected);
    view.inFlight += 1;
    await this.transmit(view, packet, defaultDeadlineMs).finally(() => (view.inFlight -= 1));
  }

  private async open(): Promise<void> {
    const { services = [], maxInFlight = 1_000, pollMs = 500 } = this.options;
    const links = new ClientLinks({
      ...this.options,
      services,
      maxInFlight,
      pollMs,
      channel: this.channel,
      onMessage: (message) => this.onMessage(message),
      onLost: () => this.pending.settleAll({ error: unavailable('the connection to Redis was lost') }),
    });
    this.links = links;
    for (const [event, listener] of this.listeners) for (const link of links.all) link.on(event, listener);
    for (const event of linkEvents) for (const link of links.all) link.on(event, () => this.publishStatus());
    await links.open();
    this.publishStatus();
    void warnOfEviction(links.writer.redis, this.options.log, 'the requests');
  }

  private publishStatus(): void {
    // The connections that it closes itself are not connected again.
    if (!this.links) return;
    this._status$.next(this.links.all.every((link) => link.isUp) ? 'connected' : 'reconnecting');
  }

  private onMessage(message: Buffer): void {
    decodeReplies(message, (id, result) => {
      if (!this.pending.settle(id, result)) this.counts.late += 1;
    });
  }

  /** Sends a request; `settle` is called exactly once. @returns what gives the call up. */
  private ask(packet: Packet, wantedMs: number, settle: (result: Result) => void): () => void {
    const budgetMs = Math.min(wantedMs, longestBudgetMs);
    const view = this.viewFor(packet);
    if (!view || view.isFull) {
      settle({ error: this.refusal(view ? tooMany : notConnected) });
      return () => {};
    }
    view.inFlight += 1;
    const id = this.pending.add(budgetMs, (result) => {
      view.inFlight -= 1;
      if (result === timedOut) this.counts.timedOut += 1;
      settle(result);
    });
    const end = (error: unknown) => void this.pending.settle(id, () => ({ error }));
    this.transmit(view, packet, budgetMs, id).catch(end);
    return () => end(unavailable('given up by the caller'));
  }

  /** Adds a request to its service's stream, or throws why it can't be. Without an id it is an event. */
  private async transmit(view: ServiceView, packet: Packet, budgetMs: number, id?: string): Promise<void> {
    // If this process itself was held up, the last poll is too old to say that the service is away: it polls once more.
    // A poll that is under way already is not waited for, as it may hang during a failover.
    if (!view.clock.isKnown || (!view.isAlive && !view.isPolling)) await this.links?.refresh(view);
    const reason = this.isUp ? view.refusal(budgetMs) : 'Redis is away';
    if (reason) throw this.refusal(reason);
    const fields = encodeRequest({
      pattern: this.normalizePattern(packet.pattern),
      data: JSON.stringify(packet.data),
      budgetMs,
      until: view.clock.now() + budgetMs,
      metadata: packet.metadata ?? {},
      secret: packet.secret ?? false,
      reply: id === undefined ? undefined : { channel: this.channel, id },
    });
    this.counts.sent += 1;
    await view.send(fields);
  }

  private refusal(reason: string): Failure {
    this.counts.refused += 1;
    return unavailable(reason);
  }

  private viewFor(packet: ReadPacket): ServiceView | undefined {
    return this.links?.view(serviceOf(this.normalizePattern(packet.pattern)));
  }
}

/** An error of a result as it is thrown here. */
function thrown(error: unknown): unknown {
  if (error instanceof Error) return error;
  const failure = failureSchema.safeParse(error);
  return failure.success ? new Failure(failure.data.code) : error;
}
