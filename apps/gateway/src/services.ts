import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { JsonText, type ReplyOf, type Rpc, type SentOf } from '#contracts';
import { RequestEnd, UserLimiter, waitingPerUser } from '#http';
import { inSpan } from '#runtime';
import { StreamClient } from '#transport';
import { SpanKind } from '@opentelemetry/api';
import type { FastifyRequest } from 'fastify';
import { userIdOf } from './auth/request.user.js';
import { CONFIG, type GatewayConfig } from './gateway.config.js';
import { writeIdentity } from './http/write.identity.js';

/** What a call needs beside its contract. */
export interface CallOptions {
  /** Of a read: the largest answer that it can have, in bytes. */
  readonly answerBytes?: number;
  /** Of a request that is several writes: which one this is. It is the same one again under the same name. */
  readonly part?: string | undefined;
  /** How long the request waits yet, in milliseconds, where that is less than for the call by itself. */
  readonly budgetMs?: number;
}

/**
 * Calls the services on behalf of an HTTP request. Limits how much of one user runs and waits at the same time, reads
 * apart from writes, so that the services stay free for others.
 */
@Injectable()
export class Services {
  private readonly reads: UserLimiter;
  private readonly writes: UserLimiter;

  constructor(
    private readonly client: StreamClient,
    @Inject(CONFIG) config: GatewayConfig,
  ) {
    const limiter = (running: number, runningBytes: number) =>
      new UserLimiter({ running, runningBytes, waiting: waitingPerUser, waitingInAll: config.MAX_CALLS });
    this.reads = limiter(config.MAX_READS_PER_USER, config.MAX_ANSWER_BYTES);
    this.writes = limiter(config.MAX_WRITES_PER_USER, config.MAX_BODY_BYTES);
  }

  /**
   * Calls the service that answers a contract. What a GET asks for is a read, whatever the service does for it.
   *
   * @throws Failure only.
   */
  async call<C extends Rpc>(
    contract: C,
    request: FastifyRequest,
    payload: SentOf<C>,
    { answerBytes = smallAnswer, part, budgetMs = contract.deadlineMs }: CallOptions = {},
  ): Promise<ReplyOf<C>> {
    const writes = contract.write && request.method !== 'GET' && request.method !== 'HEAD';
    const identity = writes ? writeIdentity(request, part) : { requestId: randomUUID() };
    const send = (leftMs: number) =>
      inSpan(contract.pattern, { kind: SpanKind.CLIENT, parent: request.trace.context }, () =>
        this.client.call(contract, payload, { ...identity, correlationId: request.id, budgetMs: leftMs }),
      );
    const bytes = writes ? (request.bodyBytes ?? 0) : answerBytes;
    const limited = {
      userId: userIdOf(request),
      bytes,
      budgetMs: Math.min(budgetMs, contract.deadlineMs),
      end: request.end ?? new RequestEnd(),
    };
    const reply = await (writes ? this.writes : this.reads).run(limited, send);
    // A write has taken effect, so its answer is sent however much is held.
    request.hold?.(jsonBytes(reply), writes);
    return reply;
  }
}

/** About the most bytes of an answer that is no list. */
const smallAnswer = 16_384;

/** The bytes of JSON in a reply, which are nearly all of it. */
function jsonBytes(reply: unknown): number {
  if (reply instanceof JsonText) return reply.text.length;
  if (typeof reply !== 'object' || reply === null) return 0;
  return Object.values(reply).reduce<number>((sum, part) => sum + (part instanceof JsonText ? part.text.length : 0), 0);
}
