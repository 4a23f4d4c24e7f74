import { Server, type CustomTransportStrategy, type MessageHandler } from '@nestjs/microservices';
import type { Cluster, Redis } from 'ioredis';
import type { Logger } from 'pino';
import { lastValueFrom } from 'rxjs';
import { Failure, type FailureData, type Rpc } from '#contracts';
import { warnOfCutReplies, warnOfEviction } from '#redis';
import { encodeResult, type Entry } from '../wire/format.js';
import { linkEvents, type LinkEvents, type LinkStatus } from '../wire/redis.link.js';
import { CallContext } from './call.context.js';
import { Replica } from './replica.js';
import { defaultMaxReplyBytes, defaultTimings, type ReplicaCounters, type ReplicaTimings } from './replica.options.js';

/** Nest's id of this transport. */
export const redisStreams = Symbol('redis-streams');

export interface StreamServerOptions {
  /** The service that this process is a replica of: the part of its patterns before the first dot. */
  readonly service: string;
  /** Opens a connection; two are kept, one that waits for requests and one that answers. */
  readonly connect: () => Redis | Cluster;
  readonly log: Logger;
  /** Most requests that run at the same time; the rest is left to other replicas. Default 64. */
  readonly maxInFlight?: number;
  /** Most bytes of one reply; a larger one becomes an error, `internal`, to its caller. Default 8 MiB. */
  readonly maxReplyBytes?: number;
  readonly timings?: Partial<ReplicaTimings>;
  /** Called after each request that a handler ran for, e.g. for metrics: `ok`, a failure's code, or `error`. */
  readonly onHandled?: (pattern: string, outcome: string, tookMs: number) => void;
}

/**
 * Nest's server side of the transport: makes a process a replica of its service. {@link Replica} says what is
 * guaranteed; here a request meets its handler.
 *
 * Invariants:
 * - A handler sees only payloads that its contract accepts, a caller only such replies.
 * - A thrown `Failure` crosses as data. Anything else is logged here, once, with its cause, and crosses as `internal`.
 * - A reply that is too large crosses as `internal`, too: Redis would cut the caller's connection, and with it every
 *   call that waits there.
 */
export class StreamServer extends Server<LinkEvents, LinkStatus> implements CustomTransportStrategy {
  override readonly transportId = redisStreams;
  private readonly log: Logger;
  private readonly listeners: Parameters<StreamServer['on']>[] = [];
  private replica?: Replica;
  private isTaking = true;
  private isDraining = false;
  private readonly maxReplyBytes: number;

  constructor(private readonly options: StreamServerOptions) {
    super();
    this.log = options.log;
    this.maxReplyBytes = options.maxReplyBytes ?? defaultMaxReplyBytes;
  }

  /** What this replica did so far. */
  get counters(): ReplicaCounters | undefined {
    return this.replica?.counters;
  }

  /**
   * Takes requests from now on, or leaves them to other replicas, e.g. while something that its handlers need is away:
   * then it reads none and clients do not count on it. If it is the last one, their calls are `unavailable` at once.
   */
  takeRequests(isTaking: boolean): void {
    this.isTaking = isTaking;
    void this.replica?.takeRequests(isTaking);
  }

  override async listen(callback: (error?: unknown) => void): Promise<void> {
    try {
      await this.start();
      callback();
    } catch (error) {
      callback(error);
    }
  }

  override async close(): Promise<void> {
    this.isDraining = true;
    this._status$.next('draining');
    await this.replica?.stop();
    this._status$.next('disconnected');
  }

  override on<Event extends keyof LinkEvents>(event: Event, listener: LinkEvents[Event]): void {
    this.listeners.push([event, listener]);
    this.listenToLinks(event, listener);
  }

  /** The two connections: the one that reads and the one that writes. */
  override unwrap<T>(): T {
    if (!this.replica) throw new Error('The server does not listen yet.');
    return this.replica.links.map((link) => link.redis) as T;
  }

  /** Nest's own method parses each pattern first, in case it is an object; a contract's never is. */
  override getHandlerByPattern(pattern: string): MessageHandler | null {
    return this.messageHandlers.get(pattern) ?? super.getHandlerByPattern(pattern);
  }

  private async start(): Promise<void> {
    const { maxInFlight = 64, timings } = this.options;
    const { maxReplyBytes } = this;
    this.replica = new Replica(
      { ...this.options, maxInFlight, maxReplyBytes, timings: { ...defaultTimings, ...timings } },
      (entry, now) => this.answer(entry, now),
    );
    for (const [event, listener] of this.listeners) this.listenToLinks(event, listener);
    for (const event of linkEvents) this.listenToLinks(event, () => this.publishStatus());
    await this.replica.start();
    await this.replica.takeRequests(this.isTaking);
    this.publishStatus();
    const [, { redis }] = this.replica.links;
    void warnOfEviction(redis, this.log, 'the requests');
    void warnOfCutReplies(redis, this.log, this.maxReplyBytes);
  }

  private listenToLinks(event: keyof LinkEvents, listener: LinkEvents[string]): void {
    for (const link of this.replica?.links ?? []) link.on(String(event), listener);
  }

  private publishStatus(): void {
    // The connections that it closes itself are not connected again.
    if (this.isDraining) return;
    this._status$.next(this.replica?.links.every((link) => link.isUp) ? 'connected' : 'reconnecting');
  }

  /** The encoded answer to a request; never rejects. */
  private async answer(entry: Entry, now: () => number): Promise<string> {
    const { pattern, metadata, reply } = entry.request;
    const context = new CallContext([entry, now]);
    const handler = this.getHandlerByPattern(pattern);
    const start = performance.now();
    let outcome = 'ok';
    try {
      // The caller is newer than this replica, while a release rolls out, and may try again.
      if (!handler) throw new Failure('unavailable', { cause: `nothing handles ${pattern}` });
      const data = validPayload(handler, entry.request.data);
      if (reply) {
        const result = encodeResult({ value: validReply(handler, await this.invoke(handler, data, context)) });
        this.refuseTooLarge(result);
        return result;
      }
      await this.handleEvent(pattern, { pattern, data, metadata }, context);
      return encodeResult({});
    } catch (error) {
      outcome = 'error';
      // An error of an ordinary handler, which Nest's own filter has logged and made plain data.
      if (handler && !contractOf(handler) && isPlain(error)) return encodeResult({ error });
      const failure = this.toFailure(error, context);
      outcome = failure.code;
      return encodeResult({ error: failure });
    } finally {
      if (handler) this.options.onHandled?.(pattern, outcome, performance.now() - start);
    }
  }

  /** @throws Error for more than one reply may have. */
  private refuseTooLarge(result: string): void {
    const bytes = Buffer.byteLength(result);
    if (bytes > this.maxReplyBytes) throw new Error(`the reply has ${bytes} bytes, more than ${this.maxReplyBytes}`);
  }

  /** Runs a handler between Nest's processing hooks. Of an `Observable` that it returns the last value counts. */
  private invoke(handler: MessageHandler, data: unknown, context: CallContext): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const run = async (end: () => void) => {
        try {
          const answer$ = this.transformToObservable(await handler(data, context));
          resolve(await lastValueFrom(answer$, { defaultValue: undefined }));
        } catch (error) {
          reject(error);
        } finally {
          end();
        }
      };
      this.runWithProcessingHooks(context, run);
    });
  }

  /** What the caller gets for an error; logs what only operators are to see. */
  private toFailure(error: unknown, context: CallContext): FailureData {
    const { pattern } = context;
    const requestId = context.correlationId ?? context.requestId;
    const handler = this.getHandlerByPattern(pattern);
    const told = (thrown: unknown) => (handler && contractOf(handler)?.secret ? withoutValues(thrown) : thrown);
    if (error instanceof Failure) {
      if (error.cause !== undefined)
        this.log.warn({ err: told(error.cause), pattern, requestId }, `failed: ${error.code}`);
      return { code: error.code };
    }
    this.log.error({ err: told(error), pattern, requestId }, 'a handler failed');
    return { code: 'internal' };
  }
}

/** Whether JSON has it and it is no `Error`. */
function isPlain(error: unknown): boolean {
  try {
    return !(error instanceof Error) && JSON.stringify(error) !== undefined;
  } catch {
    return false;
  }
}

/**
 * An error without its message and its properties: of a failed statement they are its parameters and the row at fault.
 * What is left says where it failed, and by Postgres' code on what.
 */
function withoutValues(thrown: unknown): unknown {
  if (!(thrown instanceof Error)) return { type: typeof thrown };
  const { name, stack = '', code } = thrown as Error & { code?: unknown };
  return {
    type: name,
    code,
    stack: stack
      .split('\n')
      .filter((line) => /^ +at /.test(line))
      .join('\n'),
  };
}

function contractOf(handler: MessageHandler): Rpc | undefined {
  return handler.extras?.contract as Rpc | undefined;
}

function validPayload(handler: MessageHandler, json: string): unknown {
  const data: unknown = JSON.parse(json);
  const contract = contractOf(handler);
  if (!contract) return data;
  const result = contract.request.safeParse(data);
  if (!result.success) throw new Failure('invalid');
  return result.data;
}

function validReply(handler: MessageHandler, reply: unknown): unknown {
  const contract = contractOf(handler);
  if (!contract) return reply;
  const result = contract.reply.safeParse(reply);
  if (!result.success)
    throw new Error(`the reply of ${contract.pattern} is not what its contract says`, { cause: result.error });
  return result.data;
}
