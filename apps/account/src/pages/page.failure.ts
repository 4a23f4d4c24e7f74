import type { IncomingMessage } from 'node:http';
import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException } from '@nestjs/common';
import { Failure } from '#contracts';
import { faultKind } from '#database';
import { type ErrorAnswer, type ErrorFormat, httpAnswers, send } from '#http';
import { RateLimited } from '#identity';
import type { Log } from '#runtime';
import type { FastifyReply } from 'fastify';
import { Refusal } from '../people/refusal.js';
import { documentOf, visitOf } from './page.js';
import { sendPage, visitFor } from './pages.js';
import { CrossSiteForm, SignInNeeded } from './person.guard.js';
import { type Failed, type FailureKind, failurePage, failures } from './views/failure.view.js';
import { linkGonePage, registrationClosedPage } from './views/registration.view.js';

type Told = Failed & { kind: FailureKind };

const ofRefusals: Partial<Record<Refusal['code'], FailureKind>> = {
  limited: 'tooMany',
  busy: 'busy',
  unavailable: 'unavailable',
  credentials: 'forbidden',
  erased: 'forbidden',
};

const ofStatuses: Readonly<Record<number, FailureKind>> = {
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

/** What a page says about whatever was thrown while a request was handled. */
function toldOf(error: unknown): Told {
  if (error instanceof Refusal)
    return { kind: ofRefusals[error.code] ?? 'badRequest', retryAfterSeconds: error.retryAfter };
  if (error instanceof RateLimited) return { kind: 'tooMany', retryAfterSeconds: error.retryAfter };
  if (error instanceof CrossSiteForm) return { kind: 'crossSite' };
  if (error instanceof Failure) return { kind: error.code === 'unavailable' ? 'unavailable' : 'internal' };
  const fromHttp = error instanceof HttpException ? error.getStatus() : undefined;
  const { statusCode = fromHttp } = error as { statusCode?: number };
  if (statusCode !== undefined && statusCode < 500) return { kind: ofStatuses[statusCode] ?? 'badRequest' };
  return faultKind(error) === 'lasting' ? { kind: 'internal' } : { kind: 'unavailable', away: ['database'] };
}

/** Sends an error: as a page to a browser, as JSON to everything else. */
export function sendFailure(reply: FastifyReply, told: Told): FastifyReply {
  const { request } = reply;
  const status = failures[told.kind];
  if (told.retryAfterSeconds !== undefined || status === 503)
    void reply.header('retry-after', String(told.retryAfterSeconds ?? 3));
  if (!/\btext\/html\b/.test(request.headers.accept ?? '')) {
    const answer: ErrorAnswer = { status, message: failurePage(visitFor(reply), told.kind).title };
    return send(reply, answer);
  }
  const visit = visitFor(reply);
  return sendPage(reply, visit, failurePage(visit, told.kind, { ...told, requestId: request.id }));
}

/** The form of errors that answer a request before any page does. */
export const pageErrors: ErrorFormat = {
  answerTo(error) {
    const { kind, retryAfterSeconds: seconds } = toldOf(error);
    return { status: failures[kind], message: kind, ...(seconds && { headers: { 'retry-after': String(seconds) } }) };
  },
  send(reply, answer) {
    const { status, headers = {} } = answer;
    // A name that somebody else pointed at this server gets no page.
    if (status === 421) return send(reply, answer);
    const kind = ofStatuses[status] ?? (status < 500 ? 'badRequest' : 'internal');
    const seconds = headers['retry-after'];
    return sendFailure(reply.headers(headers), { kind, ...(seconds && { retryAfterSeconds: Number(seconds) }) });
  },
  wrongMethod: { status: 405, message: 'Method not allowed' },
  badPath: httpAnswers[404],
};

/** Says what went wrong in a page. */
@Catch()
export class PageFailures implements ExceptionFilter {
  constructor(private readonly log: Log) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const reply = host.switchToHttp().getResponse<FastifyReply>();
    if (reply.sent) return;
    if (error instanceof SignInNeeded) {
      const to = `/sign-in?${new URLSearchParams({ next: error.next }).toString()}`;
      return void reply.code(303).header('cache-control', 'no-store').header('location', to).send();
    }
    if (error instanceof Refusal && error.code === 'link') return this.page(reply, linkGonePage);
    if (error instanceof Refusal && error.code === 'registration') return this.page(reply, registrationClosedPage);
    const told = toldOf(error);
    const log = this.log.child({ requestId: reply.request.id });
    if (told.kind === 'internal') log.error({ err: error }, 'a page failed on a fault of ours');
    if (told.kind === 'unavailable') log.debug({ err: error }, 'a page could not be made: something is away');
    void sendFailure(reply, told);
  }

  private page(reply: FastifyReply, view: typeof linkGonePage): void {
    const visit = visitFor(reply);
    void sendPage(reply, visit, view(visit));
  }
}

/** The page that tells a person why the issuer can't answer an app (OpenID Connect Core, 3.1.2.6). */
export function issuerErrorPage(
  request: IncomingMessage,
  { error, error_description = '' }: { error: string; error_description?: string | undefined },
): string {
  const visit = visitOf(request.headers['accept-language']);
  const page = failurePage(visit, error === 'temporarily_unavailable' ? 'unavailable' : 'badRequest', {
    detail: `${error}: ${error_description}`.slice(0, 500),
  });
  return documentOf(visit, page);
}
