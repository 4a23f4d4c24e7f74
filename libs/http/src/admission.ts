import { networkOf } from '#identity';
import type { Log } from '#runtime';
import type { FastifyReply, FastifyRequest } from 'fastify';
import {
  AuthenticationFailure,
  type ErrorAnswer,
  type ErrorFormat,
  httpAnswers,
} from './errors.js';
import { authenticationFailureMetrics } from './http.metrics.js';
import { dropBody } from './bodies.js';
import type { RateLimits } from './rate-limits.js';
import type { RouteTable } from './route-table.js';
import { ArrivingBody } from './arriving-body.js';
import type { UserLimiter } from './user-limiter.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Key of the user limiter: the user id, or the network of an unauthenticated client. */
    limitKey: string;
  }
}

/** The checks of an app's requests: limits, authentication, and answers to rejected requests. */
export interface AdmissionOptions {
  readonly limits: RateLimits;
  readonly limiter: UserLimiter;
  readonly errors: ErrorFormat;
  /**
   * Returns the id of the user whose credential a request has; `undefined` for a path
   * that needs no credential.
   *
   * @throws AuthenticationFailure, RateLimited, Failure.
   */
  authenticate(request: FastifyRequest, reply: FastifyReply): Promise<string | undefined>;
  /**
   * Returns the user id of the browser session of a request without a credential; `undefined`
   * without a session. With a session, the body counts for the user instead of the network.
   */
  sessionUser?(request: FastifyRequest): Promise<string | undefined>;
  /** Checks permissions before the body is read. @throws Error if the user lacks one. */
  authorize?(request: FastifyRequest): void;
  /**
   * Maximum bytes of a rejected request's body that are read before the answer, for clients that
   * read no answer before they have sent the whole body. The connection of a longer body is closed.
   * By default the body is not read.
   */
  readonly rejectedBodyBytes?: number;
}

/**
 * Admission control, before routing and before the body is read. The checks, in order: the rate
 * limit of the address, the credential, the rate limit of the user, the permission, the number of
 * the user's requests, and the route.
 */
export class Admission {
  private readonly countFailure = authenticationFailureMetrics();

  constructor(
    private readonly options: AdmissionOptions,
    private readonly routes: RouteTable,
    private readonly log: Log,
  ) {}

  /**
   * Admits a request whose path can be decoded, or answers it with an error.
   *
   * @param needsRoute false if a listener of Node answers the request instead of a route.
   * @returns true if it was admitted.
   */
  async admit(request: FastifyRequest, reply: FastifyReply, needsRoute: boolean): Promise<boolean> {
    const error =
      (await this.runChecks(request, reply)) ??
      (needsRoute ? this.findRouteError(request) : undefined);
    if (error) await this.sendError(request, reply, error);
    return error === undefined;
  }

  /** Rejects a request whose path cannot be decoded, or which fails an earlier check. */
  async reject(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    await this.sendError(
      request,
      reply,
      (await this.runChecks(request, reply)) ?? this.options.errors.badPath,
    );
  }

  /** Runs all checks except that of the route. Returns the error of the first failed check. */
  private async runChecks(
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<ErrorAnswer | undefined> {
    const { limits, limiter, errors } = this.options;
    try {
      await limits.countForAddress(request.ip, reply);
      const userId = await this.authenticate(request, reply);
      if (userId !== undefined) await limits.countForUser(userId, reply);
      this.options.authorize?.(request);
      if (userId === undefined) await this.admitOpen(request);
      else {
        request.limitKey = userId;
        // `end` is absent for a path that cannot be decoded. Such a request holds no bytes.
        if (request.end) request.hold = limiter.admit(userId, request.end);
      }
      return undefined;
    } catch (error) {
      return errors.answerTo(error, request, this.log.child({ correlationId: request.id }));
    }
  }

  /**
   * Admits a request without a credential. Limits the number of such requests only while their
   * bodies arrive.
   */
  private async admitOpen(request: FastifyRequest): Promise<void> {
    const body = ArrivingBody.watch(request.raw, request.end);
    const sessionUserId = body && (await this.options.sessionUser?.(request));
    request.limitKey = sessionUserId ?? networkOf(request.ip);
    if (request.end)
      request.hold = this.options.limiter.admitOpen(request.limitKey, request.end, body);
  }

  private async authenticate(
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<string | undefined> {
    try {
      return await this.options.authenticate(request, reply);
    } catch (error) {
      if (error instanceof AuthenticationFailure) {
        const { reason, cause } = error;
        this.countFailure(reason);
        // Logs only the code of the cause, because its message can contain the token.
        const fields = {
          correlationId: request.id,
          reason,
          detail: (cause as { code?: string } | undefined)?.code,
        };
        this.log[reason === 'missing' ? 'debug' : 'info'](
          fields,
          'request rejected: credential missing or not accepted',
        );
      }
      throw error;
    }
  }

  /**
   * Returns the error of a request without a route: 405 if the path has routes of other methods,
   * else 404. Returns `undefined` if there is a route.
   */
  private findRouteError({ url, method, is404 }: FastifyRequest): ErrorAnswer | undefined {
    // Ignores the route of CORS preflights, which matches every OPTIONS request.
    if (!is404 && method !== 'OPTIONS') return undefined;
    const methods = this.routes.methodsOf(url.split('?', 1)[0] as string);
    if (methods.length === 0) return httpAnswers[404];
    return { ...this.options.errors.wrongMethod, headers: { allow: methods.join(', ') } };
  }

  /** Sends an error answer. Closes the connection if the body exceeds `rejectedBodyBytes`. */
  private async sendError(
    request: FastifyRequest,
    reply: FastifyReply,
    error: ErrorAnswer,
  ): Promise<void> {
    const { errors, rejectedBodyBytes } = this.options;
    if (rejectedBodyBytes !== undefined && !(await dropBody(request.raw, rejectedBodyBytes)))
      void reply.header('connection', 'close');
    errors.send(reply, error);
  }
}
