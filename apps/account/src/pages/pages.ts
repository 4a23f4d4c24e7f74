import { Inject, Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { CONFIG, type AccountConfig } from '../account.config.js';
import { Cookies } from './cookies.js';
import { documentOf, type Page, type Visit, visitOf } from './page.js';

/** Sends a page. None is kept anywhere: it may show what is only this person's, or only shown once. */
export function sendPage(reply: FastifyReply, visit: Visit, page: Page): FastifyReply {
  if (page.forwardTo !== undefined) void reply.header('refresh', `0; url=${page.forwardTo}`);
  return reply
    .code(page.status ?? 200)
    .header('content-language', visit.language)
    .header('cache-control', 'no-store')
    .type('text/html; charset=utf-8')
    .send(documentOf(visit, page));
}

/** For whom an answer is. */
export function visitFor({ request }: FastifyReply): Visit {
  return visitOf(request.headers['accept-language'], request.person?.account.name ?? undefined);
}

/** How controllers answer. */
@Injectable()
export class Pages {
  readonly cookies: Cookies;

  constructor(@Inject(CONFIG) config: AccountConfig) {
    this.cookies = new Cookies(config.PUBLIC_URL);
  }

  show(reply: FastifyReply, view: (visit: Visit) => Page): void {
    const visit = visitFor(reply);
    void sendPage(reply, visit, view(visit));
  }

  /** To another page of ours, after a form was sent (RFC 9110, 15.4.4). */
  go(reply: FastifyReply, path: string): void {
    void reply.code(303).header('cache-control', 'no-store').header('location', path).send();
  }
}
