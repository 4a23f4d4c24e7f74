import { Get, Post, Redirect, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Accounts } from '../people/accounts.js';
import { Emails } from '../people/emails.js';
import { Refusal } from '../people/refusal.js';
import { type Form, FormOf, QueryOf } from './form.js';
import { nextPath, withNext } from './next-path.rules.js';
import { PageResponder, visitFor } from './page.responder.js';
import { ForPerson, PageController, type Person, PersonOf } from './person.guard.js';
import { problemsOf, type RefusedForm } from './refusal.texts.js';
import { changeEmailPage, changePasswordPage } from './views/security.view.js';
import { chooseNamePage } from './views/sign-in.view.js';

/** Serves pages that change the password and e-mail address, or choose the name once. */
@PageController()
export class PasswordController {
  constructor(
    private readonly pages: PageResponder,
    private readonly accounts: Accounts,
    private readonly emails: Emails,
  ) {}

  /** Redirects password managers (https://www.w3.org/TR/change-password-url/). */
  @Get('.well-known/change-password')
  @Redirect('/password', 302)
  changePasswordUrl(): void {}

  @Get('password')
  @ForPerson()
  form(@PersonOf() { account }: Person, @Res() reply: FastifyReply): void {
    const refused = this.pages.takeOutcome<RefusedForm>(reply);
    this.pages.show(reply, (visit) =>
      changePasswordPage(visit, { name: account.name ?? '', ...refused }),
    );
  }

  @Post('password')
  @ForPerson()
  async change(
    @PersonOf() person: Person,
    @FormOf() form: Form,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const { account, session } = person;
    try {
      await this.accounts.changePassword(
        account.id,
        form['current'] ?? '',
        form['password'] ?? '',
        session,
      );
    } catch (error) {
      const { texts } = visitFor(reply);
      const problems =
        error instanceof Refusal && error.code === 'credentials'
          ? { current: texts.passwordProblem.wrong }
          : problemsOf(texts, error);
      return this.pages.redirectRefused(reply, '/password', { problems }, error);
    }
    this.pages.redirect(reply, '/account?done');
  }

  @Get('email')
  @ForPerson({ recently: true })
  email(@PersonOf() { account: { email } }: Person, @Res() reply: FastifyReply): void {
    if (!this.emails.isEnabled) throw new Refusal('unavailable');
    const refused = this.pages.takeOutcome<RefusedForm>(reply);
    this.pages.show(reply, (visit) =>
      changeEmailPage(visit, { email: email ?? '', canRemove: email !== null, ...refused }),
    );
  }

  @Post('email')
  @ForPerson({ recently: true })
  async requestEmail(
    @PersonOf() { account, session }: Person,
    @FormOf() form: Form,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const email = (form['email'] ?? '').trim();
    const { texts, language } = visitFor(reply);
    try {
      await this.emails.requestVerification(account.id, email, language, session.id);
    } catch (error) {
      const refused = { entered: email.slice(0, 254), problems: problemsOf(texts, error) };
      return this.pages.redirectRefused(reply, '/email', refused, error);
    }
    this.pages.redirectToDone(reply, { message: 'emailSent', email });
  }

  @Post('email/remove')
  @ForPerson({ recently: true, next: '/email' })
  async remove(
    @PersonOf() { account, session }: Person,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await this.emails.remove(account.id, session);
    this.pages.redirect(reply, '/account?done');
  }

  @Get('name')
  @ForPerson()
  nameForm(
    @PersonOf() { account }: Person,
    @QueryOf() query: Form,
    @Res() reply: FastifyReply,
  ): void {
    const next = nextPath(query['next']);
    if (account.name !== null) return this.pages.redirect(reply, next ?? '/account');
    const refused = this.pages.takeOutcome<RefusedForm>(reply);
    this.pages.show(reply, (visit) => chooseNamePage(visit, { next, ...refused }));
  }

  @Post('name')
  @ForPerson()
  async chooseName(
    @PersonOf() { account }: Person,
    @FormOf() form: Form,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const next = nextPath(form['next']);
    const name = (form['name'] ?? '').trim();
    try {
      if (account.name === null) await this.accounts.rename(account.id, name);
    } catch (error) {
      const problems = problemsOf(visitFor(reply).texts, error);
      const refused: RefusedForm = { entered: name.slice(0, 64), problems };
      return this.pages.redirectRefused(reply, withNext('/name', next), refused, error);
    }
    this.pages.redirect(reply, next ?? '/account?done');
  }
}
