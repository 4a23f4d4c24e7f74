import { Get, Param, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Emails } from '../people/emails.js';
import { type Link, Links } from '../people/links.js';
import { PasswordReset } from '../people/password-reset.js';
import { Refusal } from '../people/refusal.js';
import { Registration } from '../people/registration.js';
import type { Visitor } from '../people/sessions.js';
import { SignIn } from '../people/sign-in.js';
import { type Form, FormOf } from './form.js';
import type { Page, Visit } from './document.js';
import { PageController } from './person.guard.js';
import { afterResetPath, PageResponder, visitFor } from './page.responder.js';
import { problemsOf, type RefusedForm } from './refusal.texts.js';
import { readCredentials } from './registration.controller.js';
import { registerPage, resetPage, verifyPage } from './views/registration.view.js';

/** Returns the page that asks to use a link. */
function createPage(visit: Visit, link: Link, action: string, refused: RefusedForm = {}): Page {
  if (link.kind === 'verify') return verifyPage(visit, { action, email: link.email ?? '' });
  if (link.kind === 'reset') return resetPage(visit, { action, name: link.name ?? '', ...refused });
  return registerPage(visit, { action, kind: link.kind, ...refused });
}

/** Serves the pages of one-time links. Opening changes nothing, as mail programs open links too. */
@PageController()
export class LinkController {
  constructor(
    private readonly pages: PageResponder,
    private readonly links: Links,
    private readonly registration: Registration,
    private readonly reset: PasswordReset,
    private readonly emails: Emails,
    private readonly signIn: SignIn,
  ) {}

  @Get('links/:secret')
  async show(@Param('secret') secret: string, @Res() reply: FastifyReply): Promise<void> {
    const link = await this.find(secret);
    this.pages.show(reply, (visit) =>
      createPage(visit, link, `/links/${secret}`, this.pages.takeOutcome<RefusedForm>(reply)),
    );
  }

  @Post('links/:secret')
  async use(
    @Param('secret') secret: string,
    @FormOf() form: Form,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const link = await this.find(secret);
    let accountId: string | undefined;
    try {
      accountId = await this.execute(link.kind, secret, form, this.pages.cookies.read(request));
    } catch (error) {
      const problems = problemsOf(visitFor(reply).texts, error);
      const refused: RefusedForm = {
        entered: readCredentials(form).name.slice(0, 64),
        problems,
      };
      return this.pages.redirectRefused(reply, `/links/${secret}`, refused, error);
    }
    if (link.kind === 'verify') return this.pages.redirectToDone(reply, { message: 'verified' });
    if (accountId === undefined) return this.pages.redirect(reply, afterResetPath);
    this.pages.cookies.signIn(
      reply,
      await this.signIn.signInWithoutPassword(accountId, this.pages.cookies.read(request), true),
    );
    this.pages.redirect(reply, '/connect');
  }

  /** Executes the action of a link. @returns the id of a new account; undefined without one. */
  private async execute(
    kind: Link['kind'],
    secret: string,
    form: Form,
    visitor: Visitor,
  ): Promise<string | undefined> {
    if (kind === 'verify') await this.emails.verify(secret, visitor);
    else if (kind === 'reset')
      await this.reset.resetByLink(secret, form['password'] ?? '', visitor);
    else {
      const entered = readCredentials(form);
      return (await this.registration.registerByLink(secret, entered, visitor.address)).id;
    }
    return undefined;
  }

  private async find(secret: string): Promise<Link> {
    const link = await this.links.read(secret);
    if (!link) throw new Refusal('link');
    return link;
  }
}
