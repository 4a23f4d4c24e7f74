import { type Log, refusalMetrics } from '#runtime';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Authenticator } from '../auth/authenticator.js';
import { Refusal } from '../auth/refusal.js';
import type { HeldBytes } from '../held.bytes.js';
import { answerFor, send } from './answers.js';
import { type ErrorAnswer, failureAnswers, httpAnswers } from './failure.responses.js';
import { FairStart } from './fair.start.js';
import type { RateLimits } from './rate.limits.js';
import { isOpen, methodsOf } from './routes.js';

/**
 * What stands before every handler, in this order: whether the address may ask again so soon, who asks, whether that
 * user may, whether the user has not too much here already, and whether there is such a route. Nothing else of a request
 * is looked at before.
 */
export class Gate {
  private readonly refused = refusalMetrics();
  private readonly start = new FairStart();

  constructor(
    private readonly authenticator: Authenticator,
    private readonly limits: RateLimits,
    private readonly held: HeldBytes,
    private readonly log: Log,
  ) {}

  /** A request with a path that can be decoded: answers it, or lets it pass. */
  async pass(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    // RFC 9112, 3.2: a request of HTTP/1.1 without a Host is none.
    if (request.headers.host === undefined && request.raw.httpVersionMinor > 0) {
      return send(reply.header('connection', 'close'), httpAnswers[400] as ErrorAnswer);
    }
    const refusal = await this.refusal(request, reply);
    if (refusal) return send(reply, refusal);
    const path = pathOf(request);
    if (isOpen(request.method, path) || (!request.is404 && request.method !== 'OPTIONS')) return undefined;
    const methods = methodsOf(path);
    if (methods) return send(reply.header('allow', methods.join(', ')), failureAnswers.invalid);
    return send(reply, failureAnswers.not_found);
  }

  /** A request with a path that can't be decoded: still the credential first. */
  async refuse(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    send(reply, (await this.refusal(request, reply)) ?? failureAnswers.invalid);
  }

  private async refusal(request: FastifyRequest, reply: FastifyReply): Promise<ErrorAnswer | undefined> {
    try {
      await this.limits.ofAddress(request.ip, reply);
      if (isOpen(request.method, pathOf(request))) return undefined;
      request.caller = await this.authenticated(request);
      await this.limits.ofUser(request.caller.userId, reply);
      // One that no hook saw is refused without having held anything.
      if (!request.ended) return undefined;
      request.hold = this.held.forRequest(request.caller.userId, request.ended);
      await this.start.enter(request.caller.userId);
      return undefined;
    } catch (error) {
      const log = this.log.child({ requestId: request.id });
      return answerFor(error, log, request.headers.authorization !== undefined);
    }
  }

  private async authenticated(request: FastifyRequest) {
    const reads = request.method === 'GET' || request.method === 'HEAD';
    const scope = reads ? 'read:subscriptions' : 'write:subscriptions';
    try {
      return await this.authenticator.authenticate(request.headers.authorization, scope);
    } catch (error) {
      if (error instanceof Refusal) {
        const { reason, cause } = error;
        this.refused(reason);
        // Of the cause only what it is: its message could quote the token.
        const facts = { requestId: request.id, reason, detail: (cause as { code?: string } | undefined)?.code };
        this.log[reason === 'missing' ? 'debug' : 'info'](facts, 'a credential was refused');
      }
      throw error;
    }
  }
}

function pathOf(request: FastifyRequest): string {
  return request.url.split('?', 1)[0] as string;
}
