import { Inject, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { CONFIG, type AccountConfig } from '../account.config.js';
import { siteAssets } from './site.assets.js';
import { Seal } from '../people/seal.js';
import { Cookies } from './cookies.js';
import type { Message } from './views/message.view.js';
import { documentOf, type Page, type Visit, visitOf } from './document.js';

/**
 * Path that opens after a sign-in: the console, or the account page if the console is not built.
 * Without scripts, the console redirects to the account page (apps/console/index.html).
 */
export const startPath = siteAssets ? '/console/' : '/account';

/** Path of the page on which a person chooses which suspended app passwords to keep. */
export const keepPath = '/app-passwords/keep';

const resetQuery = new URLSearchParams({ notice: 'password', next: keepPath }).toString();
/** Path after a password reset: a sign-in, then {@link keepPath}. */
export const afterResetPath = `/sign-in?${resetQuery}`;

/** Sends a page that no cache stores, since it can contain personal data or a secret. */
export function sendPage(reply: FastifyReply, visit: Visit, page: Page): FastifyReply {
  if (page.forwardTo !== undefined) void reply.header('refresh', `0; url=${page.forwardTo}`);
  return reply
    .code(page.status ?? 200)
    .header('content-language', visit.language)
    .header('cache-control', 'no-store')
    .type('text/html; charset=utf-8')
    .send(documentOf(visit, page));
}

/** Returns the properties of the page view of a response. */
export function visitFor({ request }: FastifyReply): Visit {
  return visitOf(request.headers['accept-language'], request.person !== undefined);
}

/** Returns true if the client accepts HTML, as browsers do. */
export function isBrowser({ headers }: FastifyRequest): boolean {
  return /\btext\/html\b/.test(headers.accept ?? '');
}

const purpose = 'outcome of a form';
/** Default lifetime of an outcome in seconds, as browsers follow redirects immediately. */
const outcomeSeconds = 60;

const outcomeSchema = z.object({ until: z.number(), value: z.unknown() });

/**
 * Sends pages and redirects to browsers. Invariants:
 * - Each form is answered with a redirect, so that Reload and Back do not submit the form again
 *   (POST/redirect/GET).
 * - An encrypted cookie carries the outcome of a form to the next page. Only this path and account
 *   can read it, and {@link PageResponder.takeOutcome} deletes it. So a new secret is shown once
 *   and not stored.
 */
@Injectable()
export class PageResponder {
  readonly cookies: Cookies;

  constructor(
    @Inject(CONFIG) config: AccountConfig,
    private readonly sealing: Seal,
  ) {
    this.cookies = new Cookies(config.PUBLIC_URL);
  }

  /** Sends a page. */
  show(reply: FastifyReply, view: (visit: Visit) => Page): void {
    const visit = visitFor(reply);
    void sendPage(reply, visit, view(visit));
  }

  /**
   * Redirects to a page with the outcome of a form.
   *
   * @param to path and query of the page.
   * @param value JSON of at most 2 kB, which the page reads by {@link takeOutcome} or
   *   {@link readOutcome}.
   * @param seconds lifetime of the outcome.
   */
  redirectWithOutcome(
    reply: FastifyReply,
    to: string,
    value: object,
    seconds = outcomeSeconds,
  ): void {
    const path = pathOf(to);
    const outcome = JSON.stringify({ until: Date.now() + seconds * 1_000, value });
    const sealed = this.sealing.seal(purpose, outcome, contextOf(reply, path));
    this.cookies.setOutcome(reply, path, sealed.toString('base64url'), seconds);
    this.redirect(reply, to);
  }

  /** Redirects a browser to the refused form. @throws `error` for other clients. */
  redirectRefused(reply: FastifyReply, to: string, value: object, error: unknown): void {
    if (!isBrowser(reply.request)) throw error;
    this.redirectWithOutcome(reply, to, value);
  }

  /** Redirects to a page that shows the result of a form. */
  redirectToDone(reply: FastifyReply, message: Message): void {
    this.redirectWithOutcome(reply, '/done', message);
  }

  /**
   * Redirects to another site or an app, by a page in between: after a form, browsers block such
   * redirects (`form-action`).
   */
  leaveSite(reply: FastifyReply, to: string, where: string | undefined): void {
    this.redirectWithOutcome(reply, '/forward', { to, where });
  }

  /** Returns the outcome of {@link redirectWithOutcome} for this page, if there is one. */
  readOutcome<Outcome>(reply: FastifyReply): Outcome | undefined {
    const page = pathOf(reply.request.url);
    const cookie = this.cookies.outcome(reply.request, page);
    const opened =
      cookie !== undefined &&
      this.sealing.open(purpose, Buffer.from(cookie, 'base64url'), contextOf(reply, page));
    if (!opened) return undefined;
    const { until, value } = outcomeSchema.parse(JSON.parse(opened));
    return until > Date.now() ? (value as Outcome) : undefined;
  }

  /** Returns the outcome like {@link readOutcome}, and deletes it. */
  takeOutcome<Outcome>(reply: FastifyReply): Outcome | undefined {
    const outcome = this.readOutcome<Outcome>(reply);
    if (outcome !== undefined) this.cookies.clearOutcome(reply, pathOf(reply.request.url));
    return outcome;
  }

  /** Redirects to another page of the site after a form (RFC 9110, 15.4.4). */
  redirect(reply: FastifyReply, path: string): void {
    void reply.code(303).header('cache-control', 'no-store').header('location', path).send();
  }
}

const pathOf = (url: string) => url.split('?', 1)[0] as string;

function contextOf({ request }: FastifyReply, path: string): string {
  return `${path} ${request.person?.account.id ?? ''}`;
}
