import { Get, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Emails } from '../people/emails.js';
import { PasswordReset } from '../people/password-reset.js';
import { Refusal } from '../people/refusal.js';
import { type Form, FormOf } from './form.js';
import { PageController } from './person.guard.js';
import { afterResetPath, PageResponder, visitFor } from './page.responder.js';
import { problemsOf, type RefusedForm } from './refusal.texts.js';
import { forgotPage, recoverPage } from './views/registration.view.js';

/** Serves pages for a lost password: a link by mail, or a recovery code. */
@PageController()
export class RecoveryController {
  constructor(
    private readonly pages: PageResponder,
    private readonly emails: Emails,
    private readonly reset: PasswordReset,
  ) {}

  @Get('forgot')
  form(@Res() reply: FastifyReply): void {
    const refused = this.pages.takeOutcome<RefusedForm>(reply);
    this.pages.show(reply, (visit) =>
      forgotPage(visit, { mail: this.emails.isEnabled, ...refused }),
    );
  }

  @Post('forgot')
  async send(
    @FormOf() form: Form,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const { texts, language } = visitFor(reply);
    try {
      await this.emails.sendReset((form['name'] ?? '').trim(), request.ip, language);
    } catch (error) {
      return this.pages.redirectRefused(
        reply,
        '/forgot',
        { problems: problemsOf(texts, error) },
        error,
      );
    }
    this.pages.redirectToDone(reply, { message: 'forgotSent' });
  }

  @Get('recover')
  recovery(@Res() reply: FastifyReply): void {
    const refused = this.pages.takeOutcome<RefusedForm>(reply) ?? {};
    this.pages.show(reply, (visit) => recoverPage(visit, refused));
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
      await this.reset.resetByRecoveryCode(entered, this.pages.cookies.read(request));
    } catch (error) {
      const { texts } = visitFor(reply);
      const isWrong = error instanceof Refusal && error.code === 'credentials';
      const problems = isWrong ? { form: texts.forgot.refused } : problemsOf(texts, error);
      const refused: RefusedForm = { entered: name.slice(0, 64), problems };
      return this.pages.redirectRefused(reply, '/recover', refused, error);
    }
    this.pages.redirect(reply, afterResetPath);
  }
}
