import type { IncomingMessage } from 'node:http';
import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException } from '@nestjs/common';
import { Failure, type FailureCode } from '#contracts';
import { faultKind } from '#database';
import { type ErrorAnswer, type ErrorFormat, httpAnswers, send } from '#http';
import { RateLimited } from '#identity';
import type { Log } from '#runtime';
import type { FastifyReply } from 'fastify';
import { redirectHostOf } from '../issuer/consent.service.js';
import type { PageError } from '../issuer/provider-options.js';
import { Refusal } from '../people/refusal.js';
import { createVisit, renderDocument } from './document.js';
import { withNext } from './next-path.rules.js';
import { isBrowser, sendPage, visitOfReply } from './page-context.js';
import { CrossSiteForm, SignInNeeded } from './person.guard.js';
import { appPasswordsFullPage } from './views/app-passwords.view.js';
import {
  type FailureDetails,
  type FailureKind,
  failurePage,
  failureStatus,
} from './views/failure.view.js';
import {
  appRequestGonePage,
  linkGonePage,
  registrationClosedPage,
} from './views/registration.view.js';

type PageFailure = FailureDetails & { kind: FailureKind };

const kindByRefusal: Partial<Record<Refusal['code'], FailureKind>> = {
  limited: 'tooMany',
  busy: 'busy',
  unavailable: 'unavailable',
  credentials: 'signedOut',
  erased: 'erased',
};

const kindByFailure: Partial<Record<FailureCode, FailureKind>> = {
  invalid: 'badRequest',
  unavailable: 'unavailable',
};

const kindByStatus: Readonly<Record<number, FailureKind>> = {
  403: 'forbidden',
  404: 'notFound',
  405: 'methodNotAllowed',
  408: 'badRequest',
  413: 'tooLarge',
  414: 'tooLarge',
  429: 'tooMany',
  431: 'tooLarge',
  503: 'unavailable',
};

function toPageFailure(error: unknown): PageFailure {
  if (error instanceof Refusal)
    return {
      kind: kindByRefusal[error.code] ?? 'badRequest',
      retryAfterSeconds: error.retryAfter,
      limitedAction: error.limitedAction,
    };
  if (error instanceof RateLimited) return { kind: 'tooMany', retryAfterSeconds: error.retryAfter };
  if (error instanceof CrossSiteForm) return { kind: 'crossSite' };
  if (error instanceof Failure) return { kind: kindByFailure[error.code] ?? 'internal' };
  const httpStatus = error instanceof HttpException ? error.getStatus() : undefined;
  const { statusCode = httpStatus } = error as { statusCode?: number };
  if (statusCode !== undefined && statusCode < 500)
    return { kind: kindByStatus[statusCode] ?? 'badRequest' };
  return faultKind(error) === 'permanent'
    ? { kind: 'internal' }
    : { kind: 'unavailable', unavailable: 'database' };
}

/** Sends a failure as a page to browsers and as JSON to other clients. */
export function sendFailure(reply: FastifyReply, failure: PageFailure): FastifyReply {
  const { request } = reply;
  const status = failureStatus[failure.kind];
  if (failure.retryAfterSeconds !== undefined || status === 503)
    void reply.header('retry-after', String(failure.retryAfterSeconds ?? 3));
  if (!isBrowser(request)) {
    const answer: ErrorAnswer = {
      status,
      message: failurePage(visitOfReply(reply), failure.kind).title,
    };
    return send(reply, answer);
  }
  const visit = visitOfReply(reply);
  return sendPage(
    reply,
    visit,
    failurePage(visit, failure.kind, { ...failure, correlationId: request.id }),
  );
}

/** Formats errors of requests that no page controller handles, such as an unknown path. */
export const pageErrorFormat: ErrorFormat = {
  answerTo(error, _request, log) {
    const { kind, retryAfterSeconds } = toPageFailure(error);
    if (kind === 'internal') log.error({ err: error }, 'page request failed: internal error');
    return {
      status: failureStatus[kind],
      message: kind,
      ...(retryAfterSeconds && { headers: { 'retry-after': String(retryAfterSeconds) } }),
    };
  },
  send(reply, answer) {
    const { status, headers = {} } = answer;
    // Requests for another host (421; RFC 9110, 15.5.20) get JSON, not a page of this site.
    if (status === 421) return send(reply, answer);
    const kind = kindByStatus[status] ?? (status < 500 ? 'badRequest' : 'internal');
    const retryAfter = headers['retry-after'];
    return sendFailure(reply.headers(headers), {
      kind,
      ...(retryAfter && { retryAfterSeconds: Number(retryAfter) }),
    });
  },
  wrongMethod: { status: 405, message: 'Method not allowed' },
  badPath: httpAnswers[404],
};

/** Converts errors of page controllers to responses. */
@Catch()
export class PageFailureFilter implements ExceptionFilter {
  constructor(private readonly log: Log) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const reply = host.switchToHttp().getResponse<FastifyReply>();
    if (reply.sent) return;
    if (error instanceof SignInNeeded) {
      const signInPath = withNext('/sign-in', error.next);
      return void reply
        .code(303)
        .header('cache-control', 'no-store')
        .header('location', signInPath)
        .send();
    }
    if (error instanceof Refusal && error.code === 'link')
      return this.sendMessagePage(reply, linkGonePage);
    if (error instanceof Refusal && error.code === 'app_request')
      return this.sendMessagePage(reply, appRequestGonePage);
    if (error instanceof Refusal && error.code === 'registration')
      return this.sendMessagePage(reply, registrationClosedPage);
    if (error instanceof Refusal && error.code === 'too_many' && isBrowser(reply.request))
      return this.sendMessagePage(reply, appPasswordsFullPage);
    const failure = toPageFailure(error);
    const log = this.log.child({ correlationId: reply.request.id });
    if (failure.kind === 'internal')
      log.error({ err: error }, 'page request failed: internal error');
    if (failure.kind === 'unavailable')
      log.debug(
        { err: error },
        'page request answered with 503: Postgres or another service is unavailable',
      );
    void sendFailure(reply, failure);
  }

  private sendMessagePage(reply: FastifyReply, view: typeof linkGonePage): void {
    const visit = visitOfReply(reply);
    void sendPage(reply, visit, view(visit));
  }
}

/** Returns the HTML of an OAuth error of the issuer (OpenID Connect Core, 3.1.2.6). */
export function issuerErrorPage(
  request: IncomingMessage,
  { error, error_description = '', redirectUri }: PageError,
): string {
  const visit = createVisit(request.headers['accept-language']);
  const page = failurePage(
    visit,
    error === 'temporarily_unavailable' ? 'unavailable' : 'badRequest',
    {
      detail: `${error}: ${error_description}`.slice(0, 500),
      app: redirectUri && redirectHostOf(redirectUri),
    },
  );
  return renderDocument(visit, page);
}
