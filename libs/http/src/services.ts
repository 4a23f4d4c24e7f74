import { randomUUID } from 'node:crypto';
import { type CallMetadata, JsonText, type ReplyOf, type Rpc, type SentOf } from '#contracts';
import { inSpan } from '#runtime';
import type { StreamClient } from '#transport';
import { SpanKind } from '@opentelemetry/api';
import type { FastifyRequest } from 'fastify';
import type { HttpConfig } from './http.config.js';
import { RequestEnd } from './request.hooks.js';
import { type CallPool, UserLimiter } from './user.limiter.js';

/** Options of a call in addition to its contract. */
export interface ServiceCallOptions {
  /** Maximum size of the answer to a read, in bytes. */
  readonly answerBytes?: number;
  /** Name of this write in a request of several writes; a repeated request repeats the name. */
  readonly part?: string | undefined;
  /** Remaining time of the request in milliseconds, if it is less than the contract's deadline. */
  readonly budgetMs?: number;
}

/** Variables with the limits of {@link Services}. */
type ServicesConfig = Pick<HttpConfig, 'MAX_HELD_BYTES' | 'MAX_BODY_BYTES'> &
  Readonly<Record<'MAX_READS_PER_USER' | 'MAX_WRITES_PER_USER', number>>;

/** Options of {@link Services}. */
export interface ServicesOptions {
  /** Maximum bytes of the answers to concurrent reads of one user. Default: no limit. */
  readonly readBytes?: number;
  /** Returns the idempotency identity of a write. By default a new one for each call. */
  readonly writeIdentity?: (
    request: FastifyRequest,
    part?: string,
  ) => Pick<CallMetadata, 'requestId' | 'fingerprint'>;
}

/** Maximum queued requests of one user. */
const waitingPerUser = 200;
/** Approximate maximum size of an answer that is not a list, in bytes. */
const smallAnswerBytes = 16_384;

/** Calls the services for HTTP requests, within the user's limits for reads and writes. */
export class Services {
  /** Limits the requests of each user to the running and queued ones, reads and writes together. */
  readonly limiter: UserLimiter;
  private readonly reads: CallPool;
  private readonly writes: CallPool;

  constructor(
    private readonly client: StreamClient,
    config: ServicesConfig,
    private readonly options: ServicesOptions = {},
  ) {
    const { MAX_READS_PER_USER: reads, MAX_WRITES_PER_USER: writes } = config;
    const requests = reads + writes + waitingPerUser;
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
      answerBytes = smallAnswerBytes,
      part,
      budgetMs = contract.deadlineMs,
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
        bytes: isWrite ? (request.bodyBytes ?? 0) : answerBytes,
        budgetMs: Math.min(budgetMs, contract.deadlineMs),
      },
      (leftMs) =>
        inSpan(contract.pattern, { kind: SpanKind.CLIENT, parent: request.trace.context }, () =>
          client.call(contract, payload, {
            ...identity,
            correlationId: request.id,
            budgetMs: leftMs,
          }),
        ),
    );
    // A write has taken effect, so its answer is sent even above the byte limits.
    request.hold?.(jsonBytes(reply), isWrite);
    return reply;
  }

  /** Runs a part of a request in a pool of its user; see {@link UserLimiter.run}. */
  run<Result>(
    pool: CallPool,
    { limitKey: user, end = new RequestEnd() }: FastifyRequest,
    { bytes = 0, budgetMs }: { readonly bytes?: number; readonly budgetMs: number },
    run: (remainingMs: number) => Promise<Result>,
  ): Promise<Result> {
    return this.limiter.run(pool, { user, bytes, budgetMs, end }, run);
  }
}

/** Returns the length of the {@link JsonText} in a reply, which makes up nearly all of it. */
function jsonBytes(reply: unknown): number {
  if (reply instanceof JsonText) return reply.text.length;
  if (typeof reply !== 'object' || reply === null) return 0;
  return Object.values(reply).reduce<number>(
    (sum, part) => sum + (part instanceof JsonText ? part.text.length : 0),
    0,
  );
}
