import {
  answerFor,
  authenticationFailureMetrics,
  type ErrorAnswer,
  type HeldBytes,
  httpAnswers,
  type RateLimits,
  type RouteTable,
  send,
} from '#http';
import type { Log } from '#runtime';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AuthenticationFailure, type Authenticator } from '../auth/authenticator.js';
import type { GatewayConfig } from '../gateway.config.js';
import { challenge } from './challenge.js';
import { failureAnswers } from './errors.js';
import { isOpen } from './routes.js';

/**
 * Admission control, before routing and before the body is read. Checks, in this order: the Host, the rate limit of the
 * address, the credential, the rate limit of the user, what the user's requests hold already, and whether the route
 * exists.
 */
export class Admission {
  /** Set once the server is there. */
  routes: RouteTable | undefined;
  private readonly refused = authenticationFailureMetrics();

  constructor(
    private readonly config: GatewayConfig,
    private readonly authenticator: Authenticator,
    private readonly limits: RateLimits,
    private readonly held: HeldBytes,
    private readonly log: Log,
  ) {}

  /** Lets a request pass, or answers it with an error. For paths that can be decoded. */
  async admit(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    // RFC 9112, 3.2: HTTP/1.1 requires a Host.
    if (request.headers.host === undefined && request.raw.httpVersionMinor > 0) {
      return send(reply.header('connection', 'close'), httpAnswers[400]);
    }
    const error = await this.check(request, reply);
    if (error) return send(reply, error);
    const path = pathOf(request);
    if (isOpen(request.method, path) || (!request.is404 && request.method !== 'OPTIONS')) return undefined;
    const methods = this.routes?.methodsOf(path) ?? [];
    if (methods.length > 0) return send(reply.header('allow', methods.join(', ')), failureAnswers.invalid);
    return send(reply, failureAnswers.not_found);
  }

  /** Answers a request whose path can't be decoded: with 405, unless an earlier check fails. */
  async refuse(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    send(reply, (await this.check(request, reply)) ?? failureAnswers.invalid);
  }

  /** Every check but that of the route. @returns the error to answer with, where one fails. */
  private async check(request: FastifyRequest, reply: FastifyReply): Promise<ErrorAnswer | undefined> {
    try {
      await this.limits.ofAddress(request.ip, reply);
      if (isOpen(request.method, pathOf(request))) return undefined;
      request.caller = await this.authenticated(request);
      await this.limits.ofUser(request.caller.userId, reply);
      // Fastify runs no hook for a path that can't be decoded; such a request holds nothing.
      if (!request.end) return undefined;
      request.hold = this.held.forRequest(request.caller.userId, request.end);
      return undefined;
    } catch (error) {
      const log = this.log.child({ requestId: request.id });
      const answer = answerFor(error, log, failureAnswers);
      return answer.status === 401 ? { ...answer, headers: challenge(request, this.config, error) } : answer;
    }
  }

  private async authenticated(request: FastifyRequest) {
    const reads = request.method === 'GET' || request.method === 'HEAD';
    const scope = reads ? 'read:subscriptions' : 'write:subscriptions';
    try {
      return await this.authenticator.authenticate(request.headers.authorization, scope, request.ip);
    } catch (error) {
      if (error instanceof AuthenticationFailure) {
        const { reason, cause } = error;
        this.refused(reason);
        // The code of the cause alone: its message could quote the token.
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
