import {
  authenticationFailureMetrics,
  dropBody,
  type ErrorAnswer,
  type HeldBytes,
  httpAnswers,
  linkBase,
  type RateLimits,
  type RouteTable,
} from '#http';
import { networkOf } from '#identity';
import type { Log } from '#runtime';
import { gpodderSessionMetrics } from '../gpodder.metrics.js';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AuthenticationFailure, type Authenticator, type Caller, isNamed } from '../auth/authenticator.js';
import { makeSession, sessionCookie } from '../auth/session.cookie.js';
import type { GpodderConfig } from '../gpodder.config.js';
import { answerTo, failureAnswers, forbidden, refuse, Refused, wrongMethod } from './errors.js';
import { accessOf } from './routes.js';

/** What admission asks. */
export interface Checks {
  readonly authenticator: Authenticator;
  readonly limits: RateLimits;
  readonly held: HeldBytes;
  /** There once the server is. */
  routes?: RouteTable;
}

const safeMethods = ['GET', 'HEAD', 'OPTIONS'];

/**
 * Admission control, before routing and before the body is read. Checks, in this order: the Host, the rate limit of the
 * address, the credential, the rate limit of the user, whether a web page asks, the user in the path, the scope, what the
 * user's requests hold already, and whether the route exists.
 */
export class Admission {
  private readonly refused = authenticationFailureMetrics();
  private readonly countSession = gpodderSessionMetrics();

  constructor(
    private readonly config: GpodderConfig,
    private readonly checks: Checks,
    private readonly log: Log,
  ) {}

  /** Lets a request pass, or answers it with an error. For paths that can be decoded. */
  async admit(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    // RFC 9112, 3.2: HTTP/1.1 requires a Host.
    if (request.headers.host === undefined && request.raw.httpVersionMinor > 0)
      return refuse(reply.header('connection', 'close'), httpAnswers[400]);
    const error = (await this.check(request, reply)) ?? this.missing(request);
    return error && this.answer(request, reply, error);
  }

  /** Answers a request whose path can't be decoded: with 404, unless an earlier check fails. */
  async refuse(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    await this.answer(request, reply, (await this.check(request, reply)) ?? httpAnswers[404]);
  }

  /** Answers once the body has arrived, as some clients send all of it before they read. */
  private async answer(request: FastifyRequest, reply: FastifyReply, error: ErrorAnswer): Promise<FastifyReply> {
    if (!(await dropBody(request.raw, this.config.MAX_BODY_BYTES))) void reply.header('connection', 'close');
    return refuse(reply, error);
  }

  private missing({ url, method, is404 }: FastifyRequest): ErrorAnswer | undefined {
    if (!is404 && method !== 'OPTIONS') return undefined;
    const methods = this.checks.routes?.methodsOf(pathOf(url)) ?? [];
    return methods.length === 0 ? httpAnswers[404] : { ...wrongMethod, headers: { allow: methods.join(', ') } };
  }

  /** Every check but that of the route. @returns the error to answer with, where one fails. */
  private async check(request: FastifyRequest, reply: FastifyReply): Promise<ErrorAnswer | undefined> {
    const { limits, held } = this.checks;
    try {
      await limits.ofAddress(request.ip, reply);
      const access = accessOf(request);
      const caller = access === 'open' ? undefined : await this.authenticated(request, reply);
      if (caller) await limits.ofUser(caller.userId, reply);
      this.refusePages(request);
      if (caller) allow(caller, access, request);
      // Fastify runs no hook for a path that can't be decoded; such a request holds nothing.
      if (request.end) request.hold = held.forRequest(caller?.userId ?? networkOf(request.ip), request.end);
      return undefined;
    } catch (error) {
      return answerTo(error, this.log.child({ requestId: request.id }));
    }
  }

  private async authenticated(request: FastifyRequest, reply: FastifyReply): Promise<Caller> {
    try {
      const caller = await this.checks.authenticator.authenticate(request);
      request.by = caller;
      if (!caller.session) {
        const cookie = makeSession(caller.credentialId, this.config.SESSION_KEY);
        void reply.header('set-cookie', sessionCookie(cookie, this.isSecure(request)));
        this.countSession('made');
      }
      return caller;
    } catch (error) {
      if (error instanceof AuthenticationFailure) {
        const { reason } = error;
        this.refused(reason);
        const facts = { requestId: request.id, reason };
        this.log[reason === 'missing' ? 'debug' : 'info'](facts, 'a credential was refused');
      }
      throw error;
    }
  }

  private isSecure(request: FastifyRequest): boolean {
    return linkBase(request, this.config).startsWith('https:');
  }

  /** Refuses what another site's page makes a browser send, which may remember an app password. */
  private refusePages(request: FastifyRequest): void {
    if (safeMethods.includes(request.method)) return;
    const { origin, 'sec-fetch-site': site } = request.headers;
    const isForeign = origin !== undefined && origin !== new URL(linkBase(request, this.config)).origin;
    if (isForeign || (site !== undefined && site !== 'same-origin' && site !== 'none')) throw new Refused(forbidden);
  }
}

/** Whether the path is the caller's own, and the app password suffices. */
function allow(caller: Caller, access: 'open' | 'read' | 'write', { params }: FastifyRequest): void {
  const { user } = (params ?? {}) as { user?: string };
  if (!isNamed(caller, user)) throw new Refused(failureAnswers.invalid);
  if (!caller.scopes.includes(`${access}:subscriptions`)) throw new Refused(forbidden);
}

function pathOf(url: string): string {
  return url.split('?', 1)[0] as string;
}
