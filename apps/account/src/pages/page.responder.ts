import { Inject, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { CONFIG, type AccountConfig } from '../account.config.js';
import { Seal } from '../people/seal.js';
import { Cookies } from './cookies.js';
import type { Message } from './views/message.view.js';
import { documentOf, type Page, type Visit, visitOf } from './document.js';

/** Path of the choice of suspended app passwords, which continues to the path in `next`. */
export const keepPath = '/app-passwords/keep';

const resetQuery = new URLSearchParams({ notice: 'password', next: keepPath }).toString();
/** Path after a reset of the password: a sign-in, then {@link keepPath}. */
export const afterReset = `/sign-in?${resetQuery}`;

/** Sends a page. No cache stores it, since it can contain personal data or a secret. */
export function sendPage(reply: FastifyReply, visit: Visit, page: Page): FastifyReply {
  if (page.forwardTo !== undefined) void reply.header('refresh', `0; url=${page.forwardTo}`);
  return reply
    .code(page.status ?? 200)
    .header('content-language', visit.language)
    .header('cache-control', 'no-store')
    .type('text/html; charset=utf-8')
    .send(documentOf(visit, page));
}

/** Returns the reader of a response. */
export function visitFor({ request }: FastifyReply): Visit {
  return visitOf(request.headers['accept-language'], request.person !== undefined);
}

/** Returns true if a browser sent the request, and not a program. */
export function isBrowser({ headers }: FastifyRequest): boolean {
  return /\btext\/html\b/.test(headers.accept ?? '');
}

const purpose = 'outcome of a form';
/** Default lifetime of an outcome in seconds: a redirect follows immediately. */
const outcomeSeconds = 60;

const outcomeSchema = z.object({ until: z.number(), value: z.unknown() });

/**
 * Sends pages and redirects to browsers. Invariants:
 * - Every form is answered with a redirect, so that a page can be reloaded and left by Back.
 * - The outcome of a form reaches the next page in a cookie: sealed for that path and account, and
 *   deleted when the page takes it. So a new secret is shown once and stored nowhere else.
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

  show(reply: FastifyReply, view: (visit: Visit) => Page): void {
    const visit = visitFor(reply);
    void sendPage(reply, visit, view(visit));
  }

  /**
   * Redirects to a page with the outcome of a form.
   *
   * @param to path and query of the page.
   * @param value JSON of at most 2 kB, for {@link take} or {@link read} by the page.
   */
  follow(reply: FastifyReply, to: string, value: object, seconds = outcomeSeconds): void {
    const path = pathOf(to);
    const outcome = JSON.stringify({ until: Date.now() + seconds * 1_000, value });
    const sealed = this.sealing.seal(purpose, outcome, contextOf(reply, path));
    this.cookies.setOutcome(reply, path, sealed.toString('base64url'), seconds);
    this.redirect(reply, to);
  }

  /** Redirects a browser to the form that was refused. @throws `error` for other clients. */
  refuse(reply: FastifyReply, to: string, value: object, error: unknown): void {
    if (!isBrowser(reply.request)) throw error;
    this.follow(reply, to, value);
  }

  /** Redirects to a page that says what was done. */
  finish(reply: FastifyReply, message: Message): void {
    this.follow(reply, '/done', message);
  }

  /**
   * Leads on to another site or an app. A page of ours is in between, because a form must not
   * redirect there (`form-action`).
   */
  forward(reply: FastifyReply, to: string, where: string | undefined): void {
    this.follow(reply, '/forward', { to, where });
  }

  /** Returns the outcome that {@link follow} left for this page, if any. */
  read<Outcome>(reply: FastifyReply): Outcome | undefined {
    const page = pathOf(reply.request.url);
    const cookie = this.cookies.outcome(reply.request, page);
    const opened =
      cookie !== undefined &&
      this.sealing.open(purpose, Buffer.from(cookie, 'base64url'), contextOf(reply, page));
    if (!opened) return undefined;
    const { until, value } = outcomeSchema.parse(JSON.parse(opened));
    return until > Date.now() ? (value as Outcome) : undefined;
  }

  /** Returns the outcome for this page, and deletes it. */
  take<Outcome>(reply: FastifyReply): Outcome | undefined {
    const outcome = this.read<Outcome>(reply);
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
