import { randomUUID } from 'node:crypto';
import { JsonText, type ReplyOf, type Rpc, type SentOf } from '#contracts';
import { inSpan } from '#runtime';
import type { StreamClient } from '#transport';
import { SpanKind } from '@opentelemetry/api';
import type { FastifyRequest } from 'fastify';
import { RequestEnd } from './request.end.js';
import type { CallPool, UserLimiter } from './user.limiter.js';

/** Options of a call in addition to its contract. */
export interface ServiceCallOptions {
  /** Maximum size of the answer to a read, in bytes. */
  readonly answerBytes?: number;
  /** Name of this write in a request of several writes; a repeated request repeats the name. */
  readonly part?: string | undefined;
  /** Remaining time of the request in milliseconds, if it is less than the contract's deadline. */
  readonly budgetMs?: number;
}

/** Dependencies and limits of {@link Services}. */
export interface ServicesOptions {
  readonly client: StreamClient;
  readonly limiter: UserLimiter;
  readonly reads: CallPool;
  readonly writes: CallPool;
  /** Returns the idempotency identity of a write. By default a new one for each call. */
  readonly writeIdentity?: (
    request: FastifyRequest,
    part?: string,
  ) => { requestId: string; fingerprint?: string };
}

/** Maximum queued requests of one user. */
const waitingPerUser = 200;
/** Approximate maximum size of an answer that is not a list, in bytes. */
const smallAnswerBytes = 16_384;

/** Returns the maximum running and queued requests of one user, reads and writes together. */
export function requestsPerUser(config: {
  MAX_READS_PER_USER: number;
  MAX_WRITES_PER_USER: number;
}): number {
  return config.MAX_READS_PER_USER + config.MAX_WRITES_PER_USER + waitingPerUser;
}

/** Calls the services for HTTP requests, within the user's limits for reads and writes. */
export class Services {
  constructor(private readonly options: ServicesOptions) {}

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
    const { client, reads, writes, writeIdentity } = this.options;
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
    return this.options.limiter.run(pool, { user, bytes, budgetMs, end }, run);
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
