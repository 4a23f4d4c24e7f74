import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { Failure, type ReplyOf, type RequestOf, type Rpc } from '#contracts';
import { inSpan } from '#runtime';
import { call, StreamClient } from '#transport';
import { SpanKind } from '@opentelemetry/api';
import type { FastifyRequest } from 'fastify';
import { WriteLimiter } from './write.limiter.js';

/** What a client may send as `Idempotency-Key`. */
const keyForm = /^[\x21-\x7e]{1,255}$/;

/** Calls the services on behalf of an HTTP request. */
@Injectable()
export class Services {
  constructor(
    @Inject(StreamClient) private readonly client: StreamClient,
    @Inject(WriteLimiter) private readonly limiter: WriteLimiter,
  ) {}

  /** The user that the request's credential names. */
  userId(request: FastifyRequest): string {
    if (!request.caller) throw new Failure('unauthorized');
    return request.caller.userId;
  }

  /** Calls the service that answers a contract. @throws Failure only. */
  async call<C extends Rpc>(contract: C, request: FastifyRequest, payload: RequestOf<C>): Promise<ReplyOf<C>> {
    const requestId = contract.write ? writeId(request) : randomUUID();
    const send = (budgetMs = contract.deadlineMs) =>
      inSpan(contract.pattern, SpanKind.CLIENT, request.trace.context, () =>
        call(this.client, contract, payload, { requestId, correlationId: request.id, budgetMs }),
      );
    if (!contract.write) return send();
    const write = { userId: this.userId(request), budgetMs: contract.deadlineMs, caller: request };
    return this.limiter.run(write, send);
  }
}

/** The client's key, apart from ids of our own, so that nobody can ask for another request's answer. */
function writeId(request: FastifyRequest): string {
  const key = request.headers['idempotency-key'];
  if (key === undefined) return `request ${randomUUID()}`;
  if (typeof key !== 'string' || !keyForm.test(key)) throw new Failure('invalid');
  return `key ${key}`;
}
