import { Get, Post, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Emails } from '../people/emails.js';
import { PasswordReset } from '../people/password-reset.js';
import { afterResetPath } from './page-context.js';
import { PageController } from './person.guard.js';
import type { RefusedForm } from './refusal-texts.js';
import { forgotPage, recoverPage } from './views/registration.view.js';

/** Serves pages for a lost password: a link by mail, or a recovery code. */
@PageController()
export class RecoveryController {
  constructor(
    private readonly emails: Emails,
    private readonly passwordReset: PasswordReset,
  ) {}

  @Get('forgot')
  showForgotPage(@Res() { page }: FastifyReply): void {
    page.show(forgotPage, { mail: this.emails.hasMailServer, ...page.takeOutcome<RefusedForm>() });
  }

  @Post('forgot')
  async sendResetLink(@Res() { page }: FastifyReply): Promise<void> {
    const name = (page.form['name'] ?? '').trim();
    try {
      await this.emails.sendResetLink(name, page.request.ip, page.visit.language);
    } catch (error) {
      return page.refuse('/forgot', error);
    }
    page.redirectToDone({ message: 'forgotSent' });
  }

  @Get('recover')
  showRecoveryForm(@Res() { page }: FastifyReply): void {
    page.show(recoverPage, page.takeOutcome<RefusedForm>() ?? {});
  }

  @Post('recover')
  async resetByRecoveryCode(@Res() { page }: FastifyReply): Promise<void> {
    const { form } = page;
    const name = (form['name'] ?? '').trim();
    const entered = { name, code: form['recovery'] ?? '', password: form['password'] ?? '' };
    try {
      const device = await this.passwordReset.resetByRecoveryCode(entered, page.browser);
      page.cookies.setDeviceCookie(page.reply, device);
    } catch (error) {
      const wrong = { form: page.visit.texts.forgot.refused };
      return page.refuse('/recover', error, { entered: name, wrong });
    }
    page.redirect(afterResetPath);
  }
}
