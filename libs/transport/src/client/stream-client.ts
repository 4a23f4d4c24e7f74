import { randomUUID } from 'node:crypto';
import { ClientProxy } from '@nestjs/microservices';
import type { Cluster, Redis } from 'ioredis';
import type { Logger } from 'pino';
import {
  type CallMetadata,
  Failure,
  failureSchema,
  type ReplyOf,
  type Rpc,
  type SentOf,
  unavailable,
} from '#contracts';
import { warnOfEviction } from '#redis';
import {
  decodeReplies,
  encodePayload,
  encodeRequest,
  maxBudgetMs,
  type WireRequest,
  type WireResult,
  replyChannel,
} from '../wire/format.js';
import { ClientLinks } from './client-links.js';
import type { ServiceView } from './service-view.js';

export interface StreamClientOptions {
  /** Opens a connection. The client uses two: one writes, one is subscribed to replies. */
  readonly connect: () => Redis | Cluster;
  readonly log: Logger;
  /** Services whose heartbeats the client reads before their first call. Default: none. */
  readonly services?: readonly string[];
  /** Maximum running calls to one service; further ones fail immediately. Default 1,000. */
  readonly maxInFlight?: number;
  /** Interval in ms at which the state of called services is read from Redis. Default 500. */
  readonly readIntervalMs?: number;
}

/** Counts of a client's calls since its creation. */
export interface ClientCounters {
  /** Calls that await a reply now. */
  readonly inFlight: number;
  readonly sentCalls: number;
  /** Calls that failed immediately: no replica alive, service overloaded, or Redis disconnected. */
  readonly rejectedCalls: number;
  readonly timedOutCalls: number;
  /** Replies that arrived after their call had ended. */
  readonly lateReplies: number;
  readonly lostConnections: number;
  /** Wait of the oldest unread request in ms, by service; 0 if there is none. */
  readonly backlogMs: Readonly<Record<string, number>>;
}

/** Metadata of one call, and a time limit that replaces the contract's. */
export interface CallOptions extends CallMetadata {
  /** Time limit in milliseconds, at most a minute. Default: the contract's `deadlineMs`. */
  readonly timeLimitMs?: number;
}

/** A call that awaits its reply. */
interface PendingCall {
  /** Resolves the call with its result. */
  readonly settle: (result: WireResult) => void;
  readonly timer: NodeJS.Timeout;
}

const tooManyCalls = 'too many concurrent calls to one service (MAX_CALLS)';
const notConnected = 'the client has not been connected, or is closed';
const timedOutResult: WireResult = { error: unavailable('no reply within the deadline') };

/**
 * Client side of Nest's transport; one per process, for all services.
 *
 * Invariants:
 * - Every call is settled once: by its reply, its deadline or a fault, whichever comes first.
 * - A call fails immediately if no replica is alive, Redis is disconnected, too many calls run, or
 *   the oldest unread request has waited for more than half of the call's time limit.
 * - The client has its own channel for replies, and matches each reply to its call by id.
 * - No request is sent twice.
 */
export class StreamClient extends ClientProxy {
  private readonly channel = replyChannel(randomUUID());
  private readonly pending = new Map<string, PendingCall>();
  private lastCallId = 0;
  private readonly counts = { sentCalls: 0, rejectedCalls: 0, timedOutCalls: 0, lateReplies: 0 };
  private links?: ClientLinks;
  private openPromise?: Promise<void>;

  constructor(private readonly options: StreamClientOptions) {
    super();
  }

  get counters(): ClientCounters {
    const views = [...(this.links?.views ?? [])];
    return {
      ...this.counts,
      inFlight: this.pending.size,
      lostConnections:
        this.links?.bothLinks.reduce((sum, link) => sum + link.lostConnections, 0) ?? 0,
      backlogMs: Object.fromEntries(views.map(([service, view]) => [service, view.backlogMs])),
    };
  }

  /** True while calls can be sent: both connections are up and the subscription is confirmed. */
  get isUp(): boolean {
    return this.links?.isUp ?? false;
  }

  /**
   * Opens the connections, subscribes to replies, and starts reading each service's heartbeat and
   * backlog from Redis. Waits for Redis without a time limit.
   */
  override connect(): Promise<void> {
    this.openPromise ??= this.open();
    return this.openPromise;
  }

  /** Closes the connections; waiting calls fail as `unavailable`. */
  override async close(): Promise<void> {
    const links = this.links;
    this.links = undefined;
    this.openPromise = undefined;
    this.failAllCalls(unavailable('the client is closed'));
    await links?.close();
  }

  /**
   * Calls the handler of a contract, validates its reply, and resolves to it.
   *
   * @throws Failure, and no other error. Its code is that of the handler's failure, `unavailable`
   *   without a reply in time, or `internal`.
   */
  async call<C extends Rpc>(
    contract: C,
    data: SentOf<C>,
    options: CallOptions,
  ): Promise<ReplyOf<C>> {
    const { pattern, service } = contract;
    const { requestId, fingerprint, correlationId, timeLimitMs = contract.deadlineMs } = options;
    const metadata = {
      ...this.createPacket(pattern, data).metadata,
      requestId,
      ...(fingerprint !== undefined && { fingerprint }),
      ...(correlationId !== undefined && { correlationId }),
    };
    const view = this.links?.useView(service);
    if (!view || view.isFull) {
      this.counts.rejectedCalls += 1;
      throw unavailable(view ? tooManyCalls : notConnected);
    }
    const limitMs = Math.min(timeLimitMs, maxBudgetMs);
    const request = { pattern, timeLimitMs: limitMs, metadata };
    const result = await this.sendAndWait(view, request, data);
    if ('error' in result) throw toFailure(result.error);
    const reply = contract.reply.safeParse(result.value);
    if (reply.success) return reply.data as ReplyOf<C>;
    const cause = new Error(`invalid reply of ${pattern}: does not match its contract`, {
      cause: reply.error,
    });
    throw new Failure('internal', { cause });
  }

  /**
   * Disables Nest's `send()`, which has no contract to validate the reply. @throws Error always.
   */
  protected override publish(): never {
    throw new Error('the transport carries calls by contract only: use call()');
  }

  /** Disables Nest's `emit()`, because the transport has no events. @throws Error always. */
  protected override dispatchEvent(): never {
    return this.publish();
  }

  /** Disables Nest's access to the connections. @throws Error always. */
  override unwrap(): never {
    return this.publish();
  }

  private async open(): Promise<void> {
    const { services = [], maxInFlight = 1_000, readIntervalMs = 500 } = this.options;
    const links = new ClientLinks({
      ...this.options,
      services,
      maxInFlight,
      readIntervalMs,
      channel: this.channel,
      onMessage: (message) => this.onMessage(message),
      onLost: () => this.failAllCalls(unavailable('the connection to Redis was lost')),
    });
    this.links = links;
    await links.open();
    void warnOfEviction(links.writer.redis, this.options.log, 'the requests (REDIS_URL)');
  }

  private onMessage(message: Buffer): void {
    decodeReplies(message, (id, result) => {
      if (!this.settleCall(id, result)) this.counts.lateReplies += 1;
    });
  }

  /** Sends a request and resolves to the result of the call, or to a failure; never rejects. */
  private sendAndWait(
    view: ServiceView,
    request: Omit<WireRequest, 'data' | 'reply'>,
    data: object,
  ): Promise<WireResult> {
    const id = (this.lastCallId += 1).toString(36);
    view.inFlight += 1;
    return new Promise((resolve) => {
      const settle = (result: WireResult) => {
        view.inFlight -= 1;
        if (result === timedOutResult) this.counts.timedOutCalls += 1;
        resolve(result);
      };
      const timer = setTimeout(
        () => this.settleCall(id, () => timedOutResult),
        request.timeLimitMs,
      );
      this.pending.set(id, { settle, timer });
      const reply = { channel: this.channel, id };
      this.sendRequest(view, { ...request, reply }, data).catch((error: unknown) =>
        this.settleCall(id, () => ({ error })),
      );
    });
  }

  /** Ends a call. @returns false if it had already ended. */
  private settleCall(id: string, result: () => WireResult): boolean {
    const call = this.pending.get(id);
    if (!call) return false;
    this.pending.delete(id);
    clearTimeout(call.timer);
    call.settle(result());
    return true;
  }

  private failAllCalls(error: Failure): void {
    for (const id of this.pending.keys()) this.settleCall(id, () => ({ error }));
  }

  /** Adds a request to its service's stream. @throws Failure `unavailable`. */
  private async sendRequest(
    view: ServiceView,
    request: Omit<WireRequest, 'data'>,
    data: object,
  ): Promise<void> {
    if (view.needsRead) await this.links?.refreshView(view);
    const reason = this.isUp ? view.rejectionReason(request.timeLimitMs) : 'Redis is disconnected';
    if (reason) {
      this.counts.rejectedCalls += 1;
      throw unavailable(reason);
    }
    this.counts.sentCalls += 1;
    await view.send(encodeRequest({ ...request, data: encodePayload(data) }));
  }
}

/** Converts an error of a call to a Failure; one without a known code becomes `internal`. */
function toFailure(error: unknown): Failure {
  if (error instanceof Failure) return error;
  const parsed = failureSchema.safeParse(error);
  return parsed.success ? new Failure(parsed.data.code) : new Failure('internal', { cause: error });
}
