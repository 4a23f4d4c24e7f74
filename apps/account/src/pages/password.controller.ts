import { Get, Post, Redirect, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Accounts } from '../people/accounts.js';
import { Emails } from '../people/emails.js';
import { Refusal } from '../people/refusal.js';
import { nextPath, withNext } from './next-path.rules.js';
import { ForPerson, PageController } from './person.guard.js';
import type { RefusedForm } from './refusal-texts.js';
import { changeEmailPage, changePasswordPage } from './views/security.view.js';
import { chooseNamePage } from './views/sign-in.view.js';

/** Serves pages that change the password or e-mail address, or choose a missing name. */
@PageController()
export class PasswordController {
  constructor(
    private readonly accounts: Accounts,
    private readonly emails: Emails,
  ) {}

  /** URL at which password managers find the form (https://www.w3.org/TR/change-password-url/). */
  @Get('.well-known/change-password')
  @Redirect('/password', 302)
  changePasswordUrl(): void {}

  @Get('password')
  @ForPerson()
  showPasswordForm(@Res() { page }: FastifyReply): void {
    const name = page.person.account.name ?? '';
    page.show(changePasswordPage, { name, ...page.takeOutcome<RefusedForm>() });
  }

  @Post('password')
  @ForPerson()
  async changePassword(@Res() { page }: FastifyReply): Promise<void> {
    const { account, session } = page.person;
    const { current = '', password = '' } = page.form;
    try {
      await this.accounts.changePassword(account.id, current, password, session);
    } catch (error) {
      const wrong = { current: page.visit.texts.passwordProblem.wrong };
      return page.refuse('/password', error, { wrong });
    }
    page.redirect('/account?done');
  }

  @Get('email')
  @ForPerson({ recently: true })
  showEmailForm(@Res() { page }: FastifyReply): void {
    if (!this.emails.hasMailServer) throw new Refusal('unavailable');
    const { email } = page.person.account;
    const form = { email: email ?? '', canRemove: email !== null };
    page.show(changeEmailPage, { ...form, ...page.takeOutcome<RefusedForm>() });
  }

  @Post('email')
  @ForPerson({ recently: true })
  async requestEmailVerification(@Res() { page }: FastifyReply): Promise<void> {
    const { account, session } = page.person;
    const email = (page.form['email'] ?? '').trim();
    try {
      await this.emails.requestVerification(account.id, email, page.visit.language, session.id);
    } catch (error) {
      return page.refuse('/email', error, { entered: email });
    }
    page.redirectToDone({ message: 'emailSent', email });
  }

  @Post('email/remove')
  @ForPerson({ recently: true, next: '/email' })
  async removeEmail(@Res() { page }: FastifyReply): Promise<void> {
    const { account, session } = page.person;
    await this.emails.removeAddress(account.id, session);
    page.redirect('/account?done');
  }

  @Get('name')
  @ForPerson()
  showNameForm(@Res() { page }: FastifyReply): void {
    const next = nextPath(page.query['next']);
    if (page.person.account.name !== null) return page.redirect(next ?? '/account');
    page.show(chooseNamePage, { next, ...page.takeOutcome<RefusedForm>() });
  }

  @Post('name')
  @ForPerson()
  async chooseName(@Res() { page }: FastifyReply): Promise<void> {
    const { account } = page.person;
    const next = nextPath(page.form['next']);
    const name = (page.form['name'] ?? '').trim();
    try {
      if (account.name === null) await this.accounts.rename(account.id, name);
    } catch (error) {
      return page.refuse(withNext('/name', next), error, { entered: name });
    }
    page.redirect(next ?? '/account?done');
  }
}
