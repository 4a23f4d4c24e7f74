import { Inject, Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { CONFIG, type AccountConfig } from '../account.config.js';
import { Cookies } from './cookies.js';
import { documentOf, type Page, type Visit, visitOf } from './document.js';

/** Path of the choice of suspended app passwords, which continues to the path in `next`. */
export const keepPath = '/app-passwords/keep';

/** Path after a reset of the password: a sign-in, then {@link keepPath}. */
export const afterReset = `/sign-in?${new URLSearchParams({ notice: 'password', next: keepPath }).toString()}`;

/** Sends a page. No cache stores it, since it can contain personal data or a secret. */
export function sendPage(reply: FastifyReply, visit: Visit, page: Page): FastifyReply {
  if (page.forwardTo !== undefined) void reply.header('refresh', `0; url=${page.forwardTo}`);
  return reply
    .code(page.status ?? (page.isRefused ? 400 : 200))
    .header('content-language', visit.language)
    .header('cache-control', 'no-store')
    .type('text/html; charset=utf-8')
    .send(documentOf(visit, page));
}

/** Returns the reader of a response. */
export function visitFor({ request }: FastifyReply): Visit {
  return visitOf(request.headers['accept-language'], request.person !== undefined);
}

/** Sends pages and redirects to browsers. */
@Injectable()
export class PageResponder {
  readonly cookies: Cookies;

  constructor(@Inject(CONFIG) config: AccountConfig) {
    this.cookies = new Cookies(config.PUBLIC_URL);
  }

  show(reply: FastifyReply, view: (visit: Visit) => Page): void {
    const visit = visitFor(reply);
    void sendPage(reply, visit, view(visit));
  }

  /** Redirects to another page of the site after a form (RFC 9110, 15.4.4). */
  redirect(reply: FastifyReply, path: string): void {
    void reply.code(303).header('cache-control', 'no-store').header('location', path).send();
  }
}
