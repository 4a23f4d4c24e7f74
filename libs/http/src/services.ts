import { randomUUID } from 'node:crypto';
import { type CallMetadata, JsonText, type ReplyOf, type Rpc, type SentOf } from '#contracts';
import { inSpan } from '#runtime';
import type { StreamClient } from '#transport';
import { SpanKind } from '@opentelemetry/api';
import type { FastifyRequest } from 'fastify';
import type { HttpConfig } from './http.config.js';
import { RequestEnd } from './request-hooks.js';
import { type CallPool, UserLimiter } from './user-limiter.js';

/** Options of one call of a service. */
export interface ServiceCallOptions {
  /**
   * Bytes that a read reserves in its user's pool: those of its largest expected answer. A larger
   * answer is still sent. Default: 16,384.
   */
  readonly reservedBytes?: number;
  /** Name of one of several writes of an HTTP request; the same when the request is repeated. */
  readonly part?: string | undefined;
  /** Time limit of the call in ms, if it is less than the contract's `deadlineMs`. */
  readonly timeLimitMs?: number;
}

/** Variables with the limits of {@link Services}. */
type ServicesConfig = Pick<HttpConfig, 'MAX_HELD_BYTES' | 'MAX_BODY_BYTES'> &
  Readonly<Record<'MAX_READS_PER_USER' | 'MAX_WRITES_PER_USER', number>>;

/** Options of {@link Services}. */
export interface ServicesOptions {
  /** Maximum bytes of the answers to concurrent reads of one user. Default: no limit. */
  readonly readBytes?: number;
  /** Returns request id and fingerprint of a write. By default each call gets a new request id. */
  readonly writeIdentity?: (
    request: FastifyRequest,
    part?: string,
  ) => Pick<CallMetadata, 'requestId' | 'fingerprint'>;
}

/** Maximum queued requests of one user. Further ones fail as `unavailable`. */
const maxQueuedPerUser = 200;
/** Approximate maximum size of an answer that is not a list, in bytes. */
const smallAnswerBytes = 16_384;

/** Calls services for HTTP requests, within each user's limits of concurrent reads and writes. */
export class Services {
  /** Limits the requests of each user: running and queued, reads and writes together. */
  readonly limiter: UserLimiter;
  private readonly reads: CallPool;
  private readonly writes: CallPool;

  constructor(
    private readonly client: StreamClient,
    config: ServicesConfig,
    private readonly options: ServicesOptions = {},
  ) {
    const { MAX_READS_PER_USER: reads, MAX_WRITES_PER_USER: writes } = config;
    const requests = reads + writes + maxQueuedPerUser;
    this.limiter = new UserLimiter({ requests, bytes: config.MAX_HELD_BYTES });
    this.reads = { calls: reads, bytes: options.readBytes ?? Infinity };
    this.writes = { calls: writes, bytes: config.MAX_BODY_BYTES };
  }

  /**
   * Calls the service of a contract. A call for a GET or HEAD always counts as a read.
   *
   * @throws Failure, and no other error.
   */
  async call<C extends Rpc>(
    contract: C,
    request: FastifyRequest,
    payload: SentOf<C>,
    {
      reservedBytes = smallAnswerBytes,
      part,
      timeLimitMs = contract.deadlineMs,
    }: ServiceCallOptions = {},
  ): Promise<ReplyOf<C>> {
    const { client, reads, writes } = this;
    const { writeIdentity } = this.options;
    const isWrite = contract.write && request.method !== 'GET' && request.method !== 'HEAD';
    const identity = (isWrite ? writeIdentity?.(request, part) : undefined) ?? {
      requestId: randomUUID(),
    };
    const reply = await this.run(
      isWrite ? writes : reads,
      request,
      {
        bytes: isWrite ? (request.bodyBytes ?? 0) : reservedBytes,
        timeLimitMs: Math.min(timeLimitMs, contract.deadlineMs),
      },
      (remainingMs) =>
        inSpan(contract.pattern, { kind: SpanKind.CLIENT, parent: request.trace.context }, () =>
          client.call(contract, payload, {
            ...identity,
            correlationId: request.id,
            timeLimitMs: remainingMs,
          }),
        ),
    );
    // Counts the bytes of the answer. The answer to a write is sent even above the limits, because
    // the write has taken effect.
    request.hold?.(countJsonBytes(reply), isWrite);
    return reply;
  }

  /** Runs a function when the pool of the request's user has room; see {@link UserLimiter.run}. */
  run<Result>(
    pool: CallPool,
    { limitKey: user, end = new RequestEnd() }: FastifyRequest,
    { bytes = 0, timeLimitMs }: { readonly bytes?: number; readonly timeLimitMs: number },
    run: (remainingMs: number) => Promise<Result>,
  ): Promise<Result> {
    return this.limiter.run(pool, { user, bytes, timeLimitMs, end }, run);
  }
}

/** Returns the length of a reply's JSON texts in bytes. The rest of a reply is small. */
function countJsonBytes(reply: unknown): number {
  if (reply instanceof JsonText) return reply.text.length;
  if (typeof reply !== 'object' || reply === null) return 0;
  return Object.values(reply).reduce<number>(
    (sum, value) => sum + (value instanceof JsonText ? value.text.length : 0),
    0,
  );
}
