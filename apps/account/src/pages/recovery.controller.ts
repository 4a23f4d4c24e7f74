import { Get, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Emails } from '../people/emails.js';
import { PasswordReset } from '../people/password-reset.js';
import { Refusal } from '../people/refusal.js';
import { type Form, FormOf } from './form.js';
import { PageController } from './person.guard.js';
import { afterReset, PageResponder, visitFor } from './page.responder.js';
import { problemsOf } from './refusal.texts.js';
import { forgotPage, forgotSentPage, recoverPage } from './views/registration.view.js';

/** Pages for a lost password: a link by mail, or a recovery code. */
@PageController()
export class RecoveryController {
  constructor(
    private readonly pages: PageResponder,
    private readonly emails: Emails,
    private readonly reset: PasswordReset,
  ) {}

  @Get('forgot')
  form(@Res() reply: FastifyReply): void {
    this.pages.show(reply, (visit) => forgotPage(visit, { mail: this.emails.areOn }));
  }

  @Post('forgot')
  async send(
    @FormOf() form: Form,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await this.emails.sendReset((form['name'] ?? '').trim(), request.ip, visitFor(reply).language);
    this.pages.show(reply, forgotSentPage);
  }

  @Get('recover')
  recovery(@Res() reply: FastifyReply): void {
    this.pages.show(reply, (visit) => recoverPage(visit, {}));
  }

  @Post('recover')
  async recover(
    @FormOf() form: Form,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const name = (form['name'] ?? '').trim();
    const entered = { name, code: form['recovery'] ?? '', password: form['password'] ?? '' };
    try {
      await this.reset.byRecoveryCode(entered, this.pages.cookies.read(request));
    } catch (error) {
      const isRefused = error instanceof Refusal && error.code === 'credentials';
      const problem = isRefused ? undefined : problemsOf(visitFor(reply).texts, error).password;
      return this.pages.show(reply, (visit) =>
        recoverPage(visit, { name: name.slice(0, 64), isRefused, passwordProblem: problem }),
      );
    }
    this.pages.redirect(reply, afterReset);
  }
}
