import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { ReplyOf, RequestOf, Rpc } from '#contracts';
import { RequestEnd, UserLimiter, waitingPerUser } from '#http';
import { inSpan } from '#runtime';
import { StreamClient } from '#transport';
import { SpanKind } from '@opentelemetry/api';
import type { FastifyRequest } from 'fastify';
import { CONFIG, type GpodderConfig } from './gpodder.config.js';

/** About the most bytes of one answer of a service to a read. */
const answerBytes = 2_097_152;

/**
 * Calls the services on behalf of an HTTP request. Limits how much of one user runs and waits at the same time, downloads
 * apart from uploads, so that the services stay free for others.
 */
@Injectable()
export class Services {
  private readonly reads: UserLimiter;
  private readonly writes: UserLimiter;

  constructor(
    private readonly client: StreamClient,
    @Inject(CONFIG) config: GpodderConfig,
  ) {
    const limiter = (running: number, runningBytes: number) =>
      new UserLimiter({ running, runningBytes, waiting: waitingPerUser, waitingInAll: config.MAX_CALLS });
    this.reads = limiter(config.MAX_READS_PER_USER, config.MAX_READS_PER_USER * answerBytes);
    this.writes = limiter(config.MAX_WRITES_PER_USER, config.MAX_BODY_BYTES);
  }

  /**
   * Calls the service that answers a contract.
   *
   * @throws Failure only.
   */
  async call<C extends Rpc>(contract: C, request: FastifyRequest, payload: RequestOf<C>): Promise<ReplyOf<C>> {
    const reads = request.method === 'GET' || request.method === 'HEAD';
    const limited = {
      userId: request.by?.userId ?? request.ip,
      bytes: reads ? answerBytes : (request.bodyBytes ?? 0),
      budgetMs: contract.deadlineMs,
      end: request.end ?? new RequestEnd(),
    };
    return (reads ? this.reads : this.writes).run(limited, (budgetMs) =>
      inSpan(contract.pattern, { kind: SpanKind.CLIENT, parent: request.trace.context }, () =>
        this.client.call(contract, payload, { requestId: randomUUID(), correlationId: request.id, budgetMs }),
      ),
    );
  }
}
