import { Get, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Account } from '../people/accounts.js';
import { Refusal } from '../people/refusal.js';
import { Registration } from '../people/registration.js';
import { SignIn } from '../people/sign-in.js';
import { type Form, FormOf, QueryOf } from './form.js';
import { nextPath, withNext } from './next-path.rules.js';
import { PageController } from './person.guard.js';
import { PageResponder, visitFor } from './page.responder.js';
import { problemsOf, type RefusedForm } from './refusal.texts.js';
import { registerPage } from './views/registration.view.js';

/** Returns name and password of a registration form. */
export function readCredentials(form: Form): { name: string; password: string } {
  return { name: (form['name'] ?? '').trim(), password: form['password'] ?? '' };
}

/** Serves the page of open registration, if the operator allows it. */
@PageController()
export class RegistrationController {
  constructor(
    private readonly pages: PageResponder,
    private readonly registration: Registration,
    private readonly signIn: SignIn,
  ) {}

  @Get('register')
  form(@QueryOf() query: Form, @Res() reply: FastifyReply): void {
    if (!this.registration.isOpen) throw new Refusal('registration');
    this.pages.show(reply, (visit) =>
      registerPage(visit, {
        action: '/register',
        kind: 'open',
        next: nextPath(query['next']),
        ...this.pages.takeOutcome<RefusedForm>(reply),
      }),
    );
  }

  @Post('register')
  async register(
    @FormOf() form: Form,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    if (!this.registration.isOpen) throw new Refusal('registration');
    const next = nextPath(form['next']);
    const entered = readCredentials(form);
    let account: Account;
    try {
      account = await this.registration.register(entered, request.ip);
    } catch (error) {
      const problems = problemsOf(visitFor(reply).texts, error);
      const refused: RefusedForm = { entered: entered.name.slice(0, 64), problems };
      return this.pages.redirectRefused(reply, withNext('/register', next), refused, error);
    }
    this.pages.cookies.signIn(
      reply,
      await this.signIn.signInWithoutPassword(account.id, this.pages.cookies.read(request), true),
    );
    this.pages.redirect(reply, next ?? '/connect');
  }
}
