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
import type { RateLimits } from './rate.limits.js';
import type { RouteTable } from './route.table.js';
import { ArrivingBody } from './arriving.body.js';
import type { UserLimiter } from './user.limiter.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** The user's id, or the network of an unauthenticated client: the key of the user limiter. */
    limitKey: string;
  }
}

/** Limits, authentication and error answers of an app's admission. */
export interface AdmissionOptions {
  readonly limits: RateLimits;
  readonly limiter: UserLimiter;
  readonly errors: ErrorFormat;
  /**
   * Returns the id of the user whose credential a request has; `undefined` for an open path.
   *
   * @throws AuthenticationFailure, RateLimited, Failure.
   */
  authenticate(request: FastifyRequest, reply: FastifyReply): Promise<string | undefined>;
  /**
   * Returns the user id of the browser session of a request without a credential; `undefined`
   * without a session. The body of the request then counts for the user, and not for the network.
   */
  sessionUser?(request: FastifyRequest): Promise<string | undefined>;
  /** Checks permissions before the body is read. @throws Error for {@link ErrorFormat}. */
  authorize?(request: FastifyRequest): void;
  /**
   * Maximum bytes of a refused request's body that are read before the answer, for clients that
   * send the whole body first. By default the body is not read.
   */
  readonly refusedBodyBytes?: number;
}

/**
 * Admission control, before routing and before the body is read. The checks, in order: the rate
 * limit of the address, the credential, the rate limit of the user, the permission, the number of
 * the user's requests, and the route.
 */
export class Admission {
  private readonly refused = authenticationFailureMetrics();

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
      (await this.check(request, reply)) ?? (needsRoute ? this.missingRoute(request) : undefined);
    if (error) await this.answer(request, reply, error);
    return error === undefined;
  }

  /** Answers a request whose path can't be decoded, with the error of the first failed check. */
  async refuse(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    await this.answer(
      request,
      reply,
      (await this.check(request, reply)) ?? this.options.errors.badPath,
    );
  }

  /** Runs all checks except that of the route. Returns the error of the first failed check. */
  private async check(
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<ErrorAnswer | undefined> {
    const { limits, limiter, errors } = this.options;
    try {
      await limits.ofAddress(request.ip, reply);
      const userId = await this.authenticate(request, reply);
      if (userId !== undefined) await limits.ofUser(userId, reply);
      this.options.authorize?.(request);
      if (userId === undefined) await this.admitOpen(request);
      else {
        request.limitKey = userId;
        // Fastify runs no hook for a path that can't be decoded. Such a request holds no bytes.
        if (request.end) request.hold = limiter.admit(userId, request.end);
      }
      return undefined;
    } catch (error) {
      return errors.answerTo(error, request, this.log.child({ correlationId: request.id }));
    }
  }

  /**
   * Admits a request without a credential. The number of such requests is not limited, except of
   * those whose body has not arrived completely.
   */
  private async admitOpen(request: FastifyRequest): Promise<void> {
    const body = ArrivingBody.of(request.raw, request.end);
    const user = body && (await this.options.sessionUser?.(request));
    request.limitKey = user ?? networkOf(request.ip);
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
        this.refused(reason);
        // Logs only the code of the cause, because its message could quote the token.
        const facts = {
          correlationId: request.id,
          reason,
          detail: (cause as { code?: string } | undefined)?.code,
        };
        this.log[reason === 'missing' ? 'debug' : 'info'](facts, 'a credential was refused');
      }
      throw error;
    }
  }

  /**
   * Returns the error of a request without a route: 405 if the path has routes of other methods,
   * else 404. Returns `undefined` if there is a route.
   */
  private missingRoute({ url, method, is404 }: FastifyRequest): ErrorAnswer | undefined {
    // The CORS route of preflights matches every OPTIONS request.
    if (!is404 && method !== 'OPTIONS') return undefined;
    const methods = this.routes.methodsOf(url.split('?', 1)[0] as string);
    if (methods.length === 0) return httpAnswers[404];
    return { ...this.options.errors.wrongMethod, headers: { allow: methods.join(', ') } };
  }

  private async answer(
    request: FastifyRequest,
    reply: FastifyReply,
    error: ErrorAnswer,
  ): Promise<void> {
    const { errors, refusedBodyBytes } = this.options;
    if (refusedBodyBytes !== undefined && !(await dropBody(request.raw, refusedBodyBytes)))
      void reply.header('connection', 'close');
    errors.send(reply, error);
  }
}
