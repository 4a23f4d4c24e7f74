import {
  BaseRpcContext,
  Server,
  type CustomTransportStrategy,
  type MessageHandler,
} from '@nestjs/microservices';
import type { Cluster, Redis } from 'ioredis';
import type { Logger } from 'pino';
import { type CallMetadata, Failure, type FailureData, type Rpc } from '#contracts';
import { warnOfSmallReplyBuffers, warnOfEviction } from '#redis';
import { encodeResult, type StreamEntry, addedAt } from '../wire/format.js';
import { Replica } from './replica.js';
import {
  defaultMaxReplyBytes,
  defaultTimings,
  type ReplicaCounters,
  type ReplicaTimings,
} from './replica-options.js';

export interface StreamServerOptions {
  /** The service of this replica: the part of its patterns before the first dot. */
  readonly service: string;
  /** Opens a connection. The server uses two: one reads requests, one answers. */
  readonly connect: () => Redis | Cluster;
  readonly log: Logger;
  /** Maximum concurrent requests; others wait until a replica has capacity. Default 64. */
  readonly maxInFlight?: number;
  /** Maximum bytes of one reply; the caller of a larger one gets `internal`. Default 8 MiB. */
  readonly maxReplyBytes?: number;
  readonly timings?: Partial<ReplicaTimings>;
  /** Called after each handled request, e.g. for metrics, with `ok` or a failure's code. */
  readonly onHandled?: (pattern: string, outcome: string, tookMs: number) => void;
}

/** Metadata and deadline of a call: the second parameter of a method with `@Handle`. */
export class CallContext
  extends BaseRpcContext<[entry: StreamEntry, now: () => number]>
  implements CallMetadata
{
  /**
   * Request id. A write takes effect once per id. All deliveries of a request have the same id. A
   * client that repeats its HTTP request gets the same id only for the same `Idempotency-Key`.
   */
  get requestId(): string {
    return this.entry.request.metadata.requestId ?? this.entry.id;
  }

  /** Hash (hex) of a write sent with an `Idempotency-Key`; undefined without a key. */
  get fingerprint(): string | undefined {
    return this.entry.request.metadata.fingerprint;
  }

  /** Correlation id of the caller's HTTP request, for logs; undefined for calls without one. */
  get correlationId(): string | undefined {
    return this.entry.request.metadata.correlationId;
  }

  get pattern(): string {
    return this.entry.request.pattern;
  }

  /** Returns all metadata that the caller attached. */
  getMetadata(): Readonly<Record<string, string>> {
    return this.entry.request.metadata;
  }

  /** Redis' time in milliseconds when it received the request; the same in all deliveries. */
  get arrivedMs(): number {
    return addedAt(this.entry.id);
  }

  /** Returns the time since Redis received the request, in milliseconds of Redis' clock. */
  ageMs(): number {
    return this.args[1]() - this.arrivedMs;
  }

  /** Request id, fingerprint and remaining time, as the options that `Database.write` needs. */
  get write() {
    const { requestId, fingerprint } = this;
    return { requestId, fingerprint, remainingMs: () => this.remainingMs() };
  }

  /** Returns the time that the caller still waits, in milliseconds; negative after its deadline. */
  remainingMs(): number {
    const [entry, now] = this.args;
    return entry.deadline - now();
  }

  private get entry(): StreamEntry {
    return this.args[0];
  }
}

/**
 * Server side of Nest's transport: makes a process a replica of its service and dispatches requests
 * to handlers. {@link Replica} lists the guarantees of delivery.
 *
 * Invariants:
 * - Every handler has a contract, and gets only valid payloads. The caller validates replies.
 * - A thrown `Failure` is sent as data. Any other error is logged once, with its cause, and sent as
 *   `internal`, without details.
 * - A reply above `maxReplyBytes` is replaced by `internal`, because Redis would close the caller's
 *   connection with all its waiting calls.
 */
export class StreamServer extends Server implements CustomTransportStrategy {
  private readonly log: Logger;
  private replica?: Replica;
  private isServing = true;
  private readonly maxReplyBytes: number;

  constructor(private readonly options: StreamServerOptions) {
    super();
    this.log = options.log;
    this.maxReplyBytes = options.maxReplyBytes ?? defaultMaxReplyBytes;
  }

  get counters(): ReplicaCounters | undefined {
    return this.replica?.counters;
  }

  /** True while both connections to Redis are open; always true without handlers. */
  get isUp(): boolean {
    return this.replica?.links.every((link) => link.isUp) ?? this.messageHandlers.size === 0;
  }

  /**
   * Starts or stops serving, e.g. while Postgres is unavailable. Clients ignore a replica that does
   * not serve. Without any other replica, their calls fail immediately.
   */
  setServing(isServing: boolean): void {
    this.isServing = isServing;
    void this.replica?.setServing(isServing);
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
    await this.replica?.stop();
  }

  /** Registers a handler; called by Nest. @throws Error for a handler without a contract. */
  override addHandler(...handler: Parameters<Server['addHandler']>): void {
    const [pattern, , , extras] = handler;
    if (!extras?.['contract'])
      throw new Error(`the handler of ${pattern} has no contract: use @Handle()`);
    super.addHandler(...handler);
  }

  /** Disables Nest's status events; see {@link isUp} instead. @throws Error always. */
  override on(): never {
    throw new Error('the transport has no events');
  }

  /** Disables Nest's access to the connections. @throws Error always. */
  override unwrap(): never {
    throw new Error('the connections are internal to the transport');
  }

  /** Starts the replica, unless the process has no handlers. */
  private async start(): Promise<void> {
    if (this.messageHandlers.size === 0) return;
    const { maxInFlight = 64, timings } = this.options;
    const { maxReplyBytes } = this;
    this.replica = new Replica(
      { ...this.options, maxInFlight, maxReplyBytes, timings: { ...defaultTimings, ...timings } },
      (entry, now) => this.runHandler(entry, now),
    );
    await this.replica.start();
    await this.replica.setServing(this.isServing);
    const [, { redis }] = this.replica.links;
    void warnOfEviction(redis, this.log, 'the requests (REDIS_URL)');
    void warnOfSmallReplyBuffers(redis, this.log, this.maxReplyBytes);
  }

  /** Runs the handler of a request and returns the encoded result or failure; never rejects. */
  private async runHandler(entry: StreamEntry, now: () => number): Promise<string> {
    const { pattern, data } = entry.request;
    const context = new CallContext([entry, now]);
    const handler = this.messageHandlers.get(pattern);
    const startedAt = performance.now();
    let outcome = 'ok';
    try {
      // During an upgrade, callers can be newer than this replica. They can retry `unavailable`,
      // and then reach a newer replica.
      if (!handler) throw new Failure('unavailable', { cause: `no handler for ${pattern}` });
      const payload = getContract(handler).request.safeParse(JSON.parse(data));
      if (!payload.success) throw new Failure('invalid');
      const result = encodeResult({
        value: await this.invokeHandler(handler, payload.data, context),
      });
      this.checkSize(result);
      return result;
    } catch (error) {
      const failure = this.toFailure(error, context, handler && getContract(handler).secret);
      outcome = failure.code;
      return encodeResult({ error: failure });
    } finally {
      if (handler) this.options.onHandled?.(pattern, outcome, performance.now() - startedAt);
    }
  }

  /** @throws Error for a reply above `maxReplyBytes`. */
  private checkSize(result: string): void {
    const bytes = Buffer.byteLength(result);
    if (bytes > this.maxReplyBytes)
      throw new Error(`the reply has ${bytes} bytes, maxReplyBytes is ${this.maxReplyBytes}`);
  }

  /** Runs a handler between Nest's processing hooks, which start and end its trace span. */
  private invokeHandler(
    handler: MessageHandler,
    payload: unknown,
    context: CallContext,
  ): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.runWithProcessingHooks(context, async (end) => {
        await handler(payload, context).then(resolve, reject);
        end();
      });
    });
  }

  /**
   * Returns the failure to send to the caller. Logs the cause of a Failure, if it has one, and any
   * other error.
   *
   * @param isSecret true to log no message of an error, because it can contain the user's data.
   */
  private toFailure(error: unknown, context: CallContext, isSecret = false): FailureData {
    const { pattern, requestId, correlationId } = context;
    const fields = { pattern, requestId, correlationId };
    const toLogged = (thrown: unknown) => (isSecret ? removeUserData(thrown) : thrown);
    if (error instanceof Failure) {
      if (error.cause !== undefined)
        this.log.warn(
          { err: toLogged(error.cause), ...fields },
          `service request failed: ${error.code}`,
        );
      return { code: error.code };
    }
    this.log.error({ err: toLogged(error), ...fields }, 'service request failed: internal error');
    return { code: 'internal' };
  }
}

/**
 * Returns an error's name, code and stack for the log of a secret request. The message and other
 * properties of a Postgres error can contain the parameters of the statement.
 */
function removeUserData(thrown: unknown): unknown {
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

function getContract(handler: MessageHandler): Rpc {
  return handler.extras?.contract as Rpc;
}
